#!lua flags=allow-oom
-- ARGV: …, worker, id, operation.
keep_time()
local d = held(ARGV[3], ARGV[4])
if d then set(d, 'operation', ARGV[5]) end
return {at, d and 1 or 0}
