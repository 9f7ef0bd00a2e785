#!lua flags=allow-oom
-- ARGV: …, rules, worker, limit, lease, token of this call, tokens of calls whose answers were lost.
local worker, limit, lease, claim = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]

-- Lease the lane and return its first delivery, or recompute when the lane is due.
local function take(channel, rule, target)
  local id = call('ZRANGE', P .. 'lane:' .. channel .. ':' .. target, 0, 0)[1]
  local free = lane_free(channel, target)
  local d = id and load(id)
  if d and d.not_before and d.not_before > wall then -- replayed, or the wall clock was set back
    call('ZREM', P .. 'lane:' .. d.lane, id)
    call('ZADD', P .. 'scheduled', d.not_before, id)
    d = nil
  end
  if not d or free > at or (d.due and d.due > at) then
    settle(channel, target, free)
    return nil
  end
  if d.expires_at and d.expires_at <= wall then
    expire(id)
    return nil
  end
  wait_no_more(d)
  call('ZREM', P .. 'due:' .. channel, target)
  call('HSET', P .. 'busy', d.lane, id)
  call('ZADD', P .. 'leases', at + lease, id)
  move(d, 'sending')
  set(d, 'worker', worker, 'claim', claim, 'repeats', rule.repeats and '1' or '0',
    'attempts', d.attempts + 1)
  call('HDEL', P .. 'd:' .. id, 'due', 'next_at', 'ended_by')
  draw_all(channel, rule, target, at)
  return id
end

-- Deliveries claimed by a call whose answer was lost are returned again.
local function repeat_lost(taken)
  if #ARGV < 8 then return end
  for _, id in ipairs(call('ZRANGE', P .. 'leases', 0, -1)) do
    local token = call('HGET', P .. 'd:' .. id, 'claim')
    for i = 8, #ARGV do
      if token == ARGV[i] then
        set({id = id}, 'worker', worker, 'claim', claim)
        call('ZADD', P .. 'leases', at + lease, id)
        taken[#taken + 1] = id
      end
    end
  end
end

local taken, heads, tidied = {}, {}, tidy()
repeat_lost(taken)

local function look(channel, rule)
  heads[channel] = nil
  if rule.free > at then return end
  local target, due = first_due(channel, at)
  if target then heads[channel] = {target = target, due = due} end
end

for channel, rule in pairs(rules) do
  open_account(channel, rule)
  look(channel, rule)
end
while #taken < limit do
  local best
  for channel, head in pairs(heads) do
    if not best or head.due < heads[best].due then best = channel end
  end
  if not best then break end
  taken[#taken + 1] = take(best, rules[best], heads[best].target)
  look(best, rules[best])
end

if #taken + tidied > 0 or not last or at - last > 1000000 then keep_time() end
local found = {}
for i, id in ipairs(taken) do found[i] = call('HGETALL', P .. 'd:' .. id) end
return {at, found}
