#!lua
-- ARGV: …, for each open event id, channel, chat, kind, urgent, state, content, time of arrival, attempts, ending,
-- reason and replies. They have no owner yet. `moved` stores their IDs for a day, so that a repeated call adds none.
keep_time()
for i = 2, #ARGV, 12 do
  local id, channel, chat, kind, urgent, status = unpack(ARGV, i, i + 5)
  if call('HEXISTS', P .. 'moved', id) == 0 then
    local seq = call('INCR', P .. 'seq')
    call('HSET', key(seq), 'id', id, 'channel', channel, 'chat', chat, 'kind', kind, 'urgent', urgent,
      'status', status, 'accepted_at', ARGV[i + 7], 'attempts', ARGV[i + 8], 'ending', ARGV[i + 9],
      'reason', ARGV[i + 10], 'owner', '')
    if ARGV[i + 6] ~= '' then call('HSET', key(seq), 'message', ARGV[i + 6]) end
    if ARGV[i + 11] ~= '' then call('HSET', key(seq), 'replies', ARGV[i + 11]) end
    call('ZADD', P .. 'all', seq, seq)
    call('ZADD', P .. 'status:' .. status, seq, seq)
    join('', seq)
    if urgent == '0' then call('ZADD', chat_of({channel = channel, chat = chat}), seq, seq) end
    call('HSET', P .. 'moved', id, seq)
  end
end
call('EXPIRE', P .. 'moved', 86400)
return {at}
