-- KEYS: sorted set of replies by the server's clock in microseconds, flag that the chat is muted.
-- ARGV: limit of replies, number of replies about to be sent, unique ID of the call.
-- Returns 0 if they may be sent, 1 if the chat is muted from now on, 2 if it was muted before.
local call, limit, count = redis.call, tonumber(ARGV[1]), tonumber(ARGV[2])
if call('EXISTS', KEYS[2]) == 1 then return 2 end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - WINDOW_US))
call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf') -- the clock was set back
if call('ZCARD', KEYS[1]) + count > limit then
  call('DEL', KEYS[1])
  call('SET', KEYS[2], '1', 'PX', MUTED_MS)
  return 1
end
for number = 1, count do call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[3] .. number) end
call('PEXPIRE', KEYS[1], WINDOW_US / 1000)
return 0
