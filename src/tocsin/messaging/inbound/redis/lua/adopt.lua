#!lua flags=allow-oom
-- ARGV: …, owner, heir, limit, then numbers that the heir knows. Returns number, id, channel, chat, urgent of each.
local owner, heir, limit, known, taken = ARGV[2], ARGV[3], tonumber(ARGV[4]), {}, {}
for i = 5, #ARGV do known[ARGV[i]] = true end
for _, seq in ipairs(call('ZRANGE', P .. 'open:' .. owner, 0, limit + #ARGV - 5)) do
  local e = not known[seq] and #taken < limit and held(seq, owner)
  if e then
    if e.status == 'working' then move(e, 'new') end
    if heir ~= owner then
      call('HSET', key(seq), 'owner', heir)
      leave(owner, seq)
      join(heir, seq)
    end
    taken[#taken + 1] = {tonumber(seq), e.id, e.channel, e.chat, tonumber(e.urgent)}
  end
end
return {at, taken}
