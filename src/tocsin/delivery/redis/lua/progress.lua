#!lua flags=allow-oom
-- ARGV: …, worker, id, parts sent, total number of parts, reference of the first part or ''.
local d = held(ARGV[3], ARGV[4])
if not d then return {at, 0} end
set(d, 'parts_sent', ARGV[5], 'parts_total', ARGV[6])
if ARGV[7] ~= '' then set(d, 'ref', ARGV[7]) end
return {at, 1}
