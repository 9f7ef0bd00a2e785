-- KEYS: values by ID, IDs by the second of the server's clock in which they were kept.
-- ARGV: ID, value, seconds after which values are forgotten; with a fourth, an ID that is known stays as it is.
local now = tonumber(redis.call('TIME')[1])
local old = redis.call('ZRANGE', KEYS[2], '-inf', now - tonumber(ARGV[3]), 'BYSCORE', 'LIMIT', 0, 100)
for _, id in ipairs(old) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
if ARGV[4] and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], now, ARGV[1])
return 1
