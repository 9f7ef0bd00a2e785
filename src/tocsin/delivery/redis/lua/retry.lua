#!lua
-- ARGV: …, id.
keep_time()
local d = load(ARGV[3])
if not d then return {at, 0} end
local waits = d.status == 'retry_wait'
if waits then
  call('HDEL', P .. 'd:' .. d.id, 'due')
  set(d, 'next_at', wall)
  settle(d.channel, d.target)
end
return {at, waits and 1 or 0, call('HGETALL', P .. 'd:' .. d.id)}
