-- KEYS: records by chat; ARGV: chat, delivery.
local found = redis.call('HGET', KEYS[1], ARGV[1])
if not found then return end
local record = cjson.decode(found)
record.told, record.notice = true, ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(record))
