-- KEYS: a key. ARGV: digest, remaining seconds, then status and body if the request was answered.
if redis.call('HSETNX', KEYS[1], 'digest', ARGV[1]) == 0 then return 0 end
if ARGV[3] then redis.call('HSET', KEYS[1], 'status', ARGV[3], 'body', ARGV[4]) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
