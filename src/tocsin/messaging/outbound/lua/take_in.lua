-- KEYS: a key. ARGV: digest, seconds that are left, then, of a request that was answered, status and body.
if redis.call('HSETNX', KEYS[1], 'digest', ARGV[1]) == 0 then return 0 end
if ARGV[3] then redis.call('HSET', KEYS[1], 'status', ARGV[3], 'body', ARGV[4]) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
