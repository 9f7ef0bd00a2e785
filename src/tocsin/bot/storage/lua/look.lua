-- KEYS: texts by key; if they expire, keys by the second of their last change. ARGV: seconds that texts are kept, key if
-- one is asked for. Returns the time in microseconds, and the text of the key, or all keys with their texts.
local time = redis.call('TIME')
if KEYS[2] then
  local latest = time[1] - tonumber(ARGV[1])
  local old = redis.call('ZRANGE', KEYS[2], '-inf', latest, 'BYSCORE', 'LIMIT', 0, ARGV[2] and 100 or -1)
  if ARGV[2] then -- it may be expired beyond those that are deleted now
    local at = redis.call('ZSCORE', KEYS[2], ARGV[2])
    if at and tonumber(at) <= latest then old[#old + 1] = ARGV[2] end
  end
  for _, key in ipairs(old) do
    redis.call('HDEL', KEYS[1], key)
    redis.call('ZREM', KEYS[2], key)
  end
end
local at = string.format('%.0f', time[1] * 1000000 + time[2])
if not ARGV[2] then return {at, redis.call('HGETALL', KEYS[1])} end
return {at, redis.call('HGET', KEYS[1], ARGV[2])}
