-- KEYS: replies by the microsecond of the server's clock, whether the chat is muted.
-- ARGV: how many replies are allowed, how many are about to go out, a word that no other call has.
-- Returns 0 if they may go out, 1 if the chat is muted from now on, 2 if it was muted before.
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
