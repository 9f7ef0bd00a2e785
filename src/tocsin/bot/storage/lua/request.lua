-- KEYS: records by chat, set of those that wait; ARGV: chat, details, how many may wait.
local found = redis.call('HGET', KEYS[1], ARGV[1])
if found and cjson.decode(found).state ~= UNKNOWN then return {found, 0} end
if redis.call('SCARD', KEYS[2]) >= tonumber(ARGV[3]) then return {false, 0} end
local new = record(PENDING, ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], new)
redis.call('SADD', KEYS[2], ARGV[1])
return {new, 1}
