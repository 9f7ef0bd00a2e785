#!lua flags=allow-oom
-- ARGV: …, number, owner, final state, reason, wall time. Returns 1, or 0 if another process owns the event.
local seq, owner, status = ARGV[2], ARGV[3], ARGV[4]
local e = held(seq, owner)
if not e or e.status == 'new' then
  local v = call('HMGET', key(seq), 'by', 'status') -- a repeated call, whose first answer was lost
  return {at, (v[1] == owner and v[2] == status) and 1 or 0}
end
keep_time()
move(e, status)
call('HSET', key(seq), 'ending', '', 'reason', ARGV[5], 'owner', '', 'by', owner, 'finished_at', ARGV[6])
call('HDEL', key(seq), 'replies')
call('ZADD', P .. 'bodies', at, seq)
leave(owner, seq)
if e.urgent == '0' then
  call('ZREM', chat_of(e), seq)
  wake_next(e)
end
return {at, 1}
