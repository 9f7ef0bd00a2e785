-- KEYS: events in work of a chat, with `before`; ARGV: event or empty, number or 0, then events that stay. Returns how
-- many events were cancelled. `before` is the number below which events are cancelled that have not begun.
local stays, count, found = {}, 0, false
for i = 3, #ARGV do stays[ARGV[i]] = true end
local work = redis.call('HGETALL', KEYS[1])
for i = 1, #work, 2 do
  local id, state = work[i], work[i + 1]
  if id ~= 'before' and state == '' then
    found = true
    if id == ARGV[1] or (ARGV[1] == '' and not stays[id]) then
      redis.call('HSET', KEYS[1], id, 'cancelled')
      count = count + 1
    end
  end
end
if found and ARGV[2] ~= '0' then
  redis.call('HSET', KEYS[1], 'before', ARGV[2])
  redis.call('EXPIRE', KEYS[1], KEPT_S)
end
return count
