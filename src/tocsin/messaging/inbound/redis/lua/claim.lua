#!lua flags=allow-oom
-- ARGV: …, owner, then numbers. Returns the events to work on, and the numbers that wait for another process.
local owner, due, waiting = ARGV[2], {}, {}

local function waits(e)
  if e.urgent == '1' then return false end
  -- Earlier events of this owner are being handled, so there are few.
  for _, seq in ipairs(call('ZRANGE', chat_of(e), '-inf', '(' .. e.seq, 'BYSCORE')) do
    if call('HGET', key(seq), 'owner') ~= owner then return true end
  end
  return false
end

for i = 3, #ARGV do
  local e = held(ARGV[i], owner)
  if e and waits(e) then
    waiting[#waiting + 1] = tonumber(e.seq)
  elseif e then
    if e.status == 'new' then move(e, 'working') end
    due[#due + 1] = {tonumber(e.seq), call('HGETALL', key(e.seq))}
  end
end
return {at, due, waiting}
