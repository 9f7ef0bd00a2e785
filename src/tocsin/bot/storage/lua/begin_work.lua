-- KEYS: events in work of a chat, with `before`; ARGV: event, its number or 0. Returns 0 if it was cancelled before.
local before, state = unpack(redis.call('HMGET', KEYS[1], 'before', ARGV[1]))
if state == 'cancelled' or (before and tonumber(ARGV[2]) > 0 and tonumber(ARGV[2]) < tonumber(before)) then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return 0
end
redis.call('HSETNX', KEYS[1], ARGV[1], '')
redis.call('EXPIRE', KEYS[1], KEPT_S)
return 1
