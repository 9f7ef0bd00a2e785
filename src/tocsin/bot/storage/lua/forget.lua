-- KEYS: records by chat, set of those that wait; ARGV: chat.
redis.call('SREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
