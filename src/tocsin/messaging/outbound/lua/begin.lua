-- The lease is a separate key, so that Redis expires it even if the process died.
local digest = redis.call('hget', KEYS[1], 'digest')
if not digest then
    redis.call('hset', KEYS[1], 'digest', ARGV[1])
    redis.call('expire', KEYS[1], ARGV[2])
    redis.call('set', KEYS[2], '1', 'PX', ARGV[3])
    return {'new'}
end
if digest ~= ARGV[1] then return {'reused'} end
local status = redis.call('hget', KEYS[1], 'status')
if status then return {'known', status, redis.call('hget', KEYS[1], 'body')} end
if redis.call('exists', KEYS[2]) == 1 then return {'running'} end
redis.call('set', KEYS[2], '1', 'PX', ARGV[3])
return {'abandoned'}
