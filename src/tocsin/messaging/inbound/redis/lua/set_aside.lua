#!lua flags=allow-oom
-- ARGV: …, owner, heir, then numbers of events that the owner cannot read. Other events of their chats do not wait.
local owner, heir = ARGV[2], ARGV[3]
for i = 4, #ARGV do
  local e = held(ARGV[i], owner)
  if e then
    if e.status == 'working' then move(e, 'new') end
    call('HSET', key(e.seq), 'owner', heir)
    leave(owner, e.seq)
    join(heir, e.seq)
    if e.urgent == '0' then
      call('ZREM', chat_of(e), e.seq)
      wake_next(e)
    end
  end
end
return {at}
