-- KEYS: records by chat, set of those that wait; ARGV: chat, state. Returns 0 if that is recorded already.
local found = redis.call('HGET', KEYS[1], ARGV[1])
local before = found and cjson.decode(found) or {details = '{}'}
if before.state == ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], record(ARGV[2], before.details))
if ARGV[2] == PENDING then redis.call('SADD', KEYS[2], ARGV[1]) else redis.call('SREM', KEYS[2], ARGV[1]) end
return 1
