-- KEYS: the lease. ARGV: holder, duration, channel for the announcement (or ''), whether the current holder is dead.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and ARGV[4] == '0' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if ARGV[3] ~= '' then redis.call('PUBLISH', ARGV[3], ARGV[1]) end
return 1
