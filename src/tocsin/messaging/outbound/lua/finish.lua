-- A key that is gone (24 h, FLUSHALL) stays so: without its digest an answer would fit any body.
if redis.call('exists', KEYS[1]) == 1 then redis.call('hset', KEYS[1], 'status', ARGV[1], 'body', ARGV[2]) end
redis.call('del', KEYS[2])
