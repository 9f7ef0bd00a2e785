-- KEYS: the lease. ARGV: who, where to announce that it is free. Answers how many heard it.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('PUBLISH', ARGV[2], '')
