#!lua
-- ARGV: …, wall time, owner, name and position of the cursor, token of its lease or 0, maximum number of keys per
-- channel, then for each event: id, channel, chat, kind, urgent, content, number of keys, keys.
-- Returns the number of each event, 0 for a duplicate; no numbers if the lease was lost.
local wall, owner, cursor, position, lease, max_keys = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
if lease ~= '0' and call('HGET', P .. 'lease:' .. cursor, 'token') ~= lease then return {at} end
keep_time()

-- Claim all keys; return true if none of them was claimed before.
local function claim(channel, from, to)
  local known, new, wanted = P .. 'keys:' .. channel, true, {}
  call('ZREMRANGEBYSCORE', known, '-inf', at - KEYS_KEPT_US)
  for i = from, to do
    if call('ZSCORE', known, ARGV[i]) then new = false else wanted[#wanted + 1] = ARGV[i] end
  end
  local last = tonumber(call('ZRANGE', known, -1, -1, 'WITHSCORES')[2]) or 0
  for i, word in ipairs(wanted) do call('ZADD', known, math.max(at, last + 1) + i - 1, word) end
  if #wanted > 0 then
    call('ZREMRANGEBYRANK', known, 0, -max_keys - 1)
    call('SADD', P .. 'channels', channel)
  end
  return new
end

local answers, i = {}, 8
while i <= #ARGV do
  local id, channel, chat, kind, urgent, body, n = unpack(ARGV, i, i + 6)
  i = i + 7 + n
  if claim(channel, i - n, i - 1) then
    local seq = call('INCR', P .. 'seq')
    call('HSET', key(seq), 'id', id, 'channel', channel, 'chat', chat, 'kind', kind, 'urgent', urgent,
      'status', 'new', 'message', body, 'accepted_at', wall, 'owner', owner)
    call('ZADD', P .. 'all', seq, seq)
    call('ZADD', P .. 'status:new', seq, seq)
    join(owner, seq)
    note(seq)
    if urgent == '0' then call('ZADD', chat_of({channel = channel, chat = chat}), seq, seq) end
    answers[#answers + 1] = seq
  else
    answers[#answers + 1] = 0
  end
end
if cursor ~= '' then call('HSET', P .. 'cursors', cursor, position) end
return {at, answers}
