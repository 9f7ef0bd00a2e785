#!lua flags=allow-oom
-- ARGV: …, worker, id, parts sent, total number of parts.
local d = held(ARGV[3], ARGV[4])
if not d then return {at, 0} end
set(d, 'parts_sent', ARGV[5], 'parts_total', ARGV[6])
return {at, 1}
