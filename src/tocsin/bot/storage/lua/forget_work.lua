-- KEYS: events in work of a chat, with `reset`; ARGV: number below which events are kept out of the history.
redis.call('HSET', KEYS[1], 'reset', ARGV[1])
redis.call('EXPIRE', KEYS[1], KEPT_S)
