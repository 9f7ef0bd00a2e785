-- A time that all hosts share, in whole microseconds: `at`. It is not the server's clock, which may jump: every client
-- states the time by its own monotonic clock, and the latest wins (docs/decisions/0010-redis-store.md).
--
-- KEYS[1]: the prefix of all keys. ARGV[1]: the time by the caller's monotonic clock, or empty.
local P, call = KEYS[1], redis.call
local hint = tonumber(ARGV[1])
local known, time = call('HMGET', P .. 'clock', 'at', 'server'), call('TIME')
local server, last = time[1] * 1000000 + time[2], tonumber(known[1])
local at
if not last then
  at = hint or server
elseif hint then
  at = math.max(last, hint)
else
  at = last + math.max(0, server - known[2]) -- a client's first call states no time
end
local function keep_time()
  call('HSET', P .. 'clock', 'at', at, 'server', server)
end
