-- A key that expired or was flushed is not stored again: without its digest, the response would match any body.
if redis.call('exists', KEYS[1]) == 1 then redis.call('hset', KEYS[1], 'status', ARGV[1], 'body', ARGV[2]) end
redis.call('del', KEYS[2])
