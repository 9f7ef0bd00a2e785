#!lua flags=allow-oom
-- ARGV: …, IDs of open events that were moved to another store.
local gone = {}
for i = 2, #ARGV do gone[ARGV[i]] = true end
for _, status in ipairs({'new', 'working', 'replying'}) do
  for _, seq in ipairs(call('ZRANGE', P .. 'status:' .. status, 0, #ARGV)) do
    local v = call('HMGET', key(seq), 'id', 'owner', 'channel', 'chat')
    if gone[v[1]] then
      leave(v[2], seq)
      call('ZREM', chat_of({channel = v[3], chat = v[4]}), seq)
      call('ZREM', P .. 'status:' .. status, seq)
      call('ZREM', P .. 'all', seq)
      call('HDEL', P .. 'moved', v[1])
      call('DEL', key(seq))
    end
  end
end
return {at}
