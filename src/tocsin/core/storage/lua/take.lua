#!lua flags=allow-oom
-- KEYS: buckets; ARGV: for each bucket how many tokens it holds, which come back within a minute.
-- A bucket is the time at which it is full again, in microseconds of the server's clock.
-- Returns for each bucket the thousandths of tokens left after one was taken, or -1 if there is none.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local left = {}
for place, key in ipairs(KEYS) do
  local interval = MINUTE_US / ARGV[place]
  local full_at = math.max(now, tonumber(redis.call('GET', key)) or now)
  full_at = math.min(full_at, now + MINUTE_US) -- the clock was set back
  local free = (now + MINUTE_US - full_at) / interval
  if free < 0.999999 then -- nearer than that, rounding would decide
    left[place] = -1
  else
    full_at = full_at + interval
    redis.call('SET', key, string.format('%.2f', full_at), 'PX', math.max(1, math.ceil((full_at - now) / 1000)))
    left[place] = math.max(0, math.floor((free - 1) * 1000 + 0.5))
  end
end
return left
