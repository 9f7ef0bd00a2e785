-- KEYS: moves by old ID; ARGV: old ID, new ID, how the names of the sets of former IDs begin (in the same slot).
local before = redis.call('HGET', KEYS[1], ARGV[1])
if before then redis.call('SREM', ARGV[3] .. before, ARGV[1]) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('SADD', ARGV[3] .. ARGV[2], ARGV[1])
