#!lua
-- ARGV: …, id, statuses from which it may be replayed.
keep_time()
local d = load(ARGV[3])
if not d then return {at, 0} end
for i = 4, #ARGV do
  if d.status == ARGV[i] then
    move(d, 'queued')
    call('ZREM', P .. 'done', d.id)
    call('HDEL', P .. 'd:' .. d.id, 'finished_at', 'expires_at', 'error', 'error_class', 'ended_by',
      'dismissed')
    set(d, 'failures', 0)
    d.expires_at = nil
    wait(d)
    settle(d.channel, d.target)
    return {at, 1, call('HGETALL', P .. 'd:' .. d.id)}
  end
end
return {at, 0, call('HGETALL', P .. 'd:' .. d.id)}
