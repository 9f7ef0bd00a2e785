-- KEYS: the lease. ARGV: holder, channel for the announcement. Returns the number of subscribers.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('PUBLISH', ARGV[2], '')
