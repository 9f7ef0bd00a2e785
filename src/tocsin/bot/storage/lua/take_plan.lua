-- KEYS: plans by ID, IDs by the second in which they were kept; ARGV: ID, chat, taker, seconds that plans are kept.
local found = redis.call('HGET', KEYS[1], ARGV[1])
local plan = found and cjson.decode(found)
if not plan or plan.chat ~= ARGV[2] then return false end
if plan.taken == ARGV[3] then return plan.steps end
local age = redis.call('TIME')[1] - (tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1])) or 0)
if plan.taken ~= '' or age > tonumber(ARGV[4]) then return false end
plan.taken = ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(plan))
return plan.steps
