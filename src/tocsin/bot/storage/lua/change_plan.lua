-- KEYS: plans by ID; ARGV: ID, name of a field, its value.
local found = redis.call('HGET', KEYS[1], ARGV[1])
if not found then return end
local plan = cjson.decode(found)
plan[ARGV[2]] = ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(plan))
