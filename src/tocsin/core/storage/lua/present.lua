-- KEYS: hash; ARGV: an ID for a Redis that has none. Returns the ID that it has then.
redis.call('HSETNX', KEYS[1], 'id', ARGV[1])
return redis.call('HGET', KEYS[1], 'id')
