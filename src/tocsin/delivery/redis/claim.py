"""The Lua of the Redis queue that hands out what is due; see redis_scripts.py for the keys."""

from dataclasses import replace

from tocsin.core.errors import FailureKind
from tocsin.delivery.model import LONGEST_HOLD_S, SCHEDULE_S, Delivery, DeliveryStatus, Policy, judge_abandoned
from tocsin.delivery.redis.scripts import ALWAYS, script

# What the scripts do with ARGV[3], the rules (JSON): channel → repeats, and the rates
# `target`, `group` and `all` as {interval, burst}, the group's for targets that begin with `prefix`.
_RULES = r"""
local rules = cjson.decode(ARGV[3])

-- From when a bucket has something to spare, by its theoretical arrival time.
local function spare(tat, rate)
  return tat - (rate[2] - 1) * rate[1]
end

-- What ends later than any hold can was stored before there was a bound.
local function held_until(key)
  local ends = tonumber(call('ZSCORE', P .. 'pace', key)) or 0
  return ends <= at + {LONGEST} and ends or 0
end

local function open_account(channel, rule)
  rule.free = held_until(pace_key('account', channel))
  if rule.all then
    rule.tat = tonumber(call('ZSCORE', P .. 'pace', pace_key('all', channel))) or 0
    rule.free = math.max(rule.free, spare(rule.tat, rule.all))
  end
end

-- Take one message, to go at `turn`, from a bucket of the lane; return from when the next one may go.
local function draw(kind, channel, target, rate, turn)
  local key = pace_key(kind, channel, target)
  local tat = math.max(turn, tonumber(call('ZSCORE', P .. 'pace', key)) or 0) + rate[1]
  block(key, tat)
  return spare(tat, rate)
end

local function draw_all(channel, rule, target, turn)
  local next = 0
  if rule.target then next = draw('target', channel, target, rule.target, turn) end
  if rule.group and string.sub(target, 1, #rule.prefix) == rule.prefix then
    next = math.max(next, draw('group', channel, target, rule.group, turn))
  end
  if next > at then block(pace_key('lane', channel, target), next) end
  if rule.all then
    rule.tat = math.max(turn, rule.tat) + rule.all[1]
    rule.free = math.max(rule.free, spare(rule.tat, rule.all))
    block(pace_key('all', channel), rule.tat)
  end
end

local function lane_free(channel, target)
  return held_until(pace_key('lane', channel, target))
end

local function first_due(channel, latest)
  local found = call('ZRANGE', P .. 'due:' .. channel, '-inf', latest, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  return found[1], tonumber(found[2])
end
""".replace("{LONGEST}", f"{LONGEST_HOLD_S * 1e6:.0f}")


def _said(delivery: Delivery) -> str:
    """Return what the rules say of a delivery whose worker died."""
    return judge_abandoned(delivery, recognises_repeats=False).error


_ANY = Delivery("", "", "", "", "", DeliveryStatus.SENDING, Policy.AT_LEAST_ONCE, 0.0)
_AGAIN = _said(_ANY)
_UNKNOWN = _said(replace(_ANY, policy=Policy.AT_MOST_ONCE))

LATE = "not sent before it expired"

_RECOVER = rf"""
-- As `judge_abandoned`.
local function recover(id)
  local d = load(id)
  local again = false
  if d.once == '1' and d.repeats ~= '1' then
    close(d, 'uncertain')
  elseif d.failures >= {len(SCHEDULE_S)} then
    close(d, 'dead')
  else
    again = true
    move(d, 'queued')
    set(d, 'failures', d.failures + 1)
    wait(d)
  end
  set(d, 'error', again and '{_AGAIN}' or '{_UNKNOWN}', 'error_class', '{FailureKind.AMBIGUOUS}')
  free_lane(d)
end

local function expire(id)
  local d = load(id)
  local last = call('HGET', P .. 'd:' .. id, 'error')
  wait_no_more(d)
  close(d, 'expired')
  set(d, 'error', '{LATE}' .. (last and last ~= '' and '; last try: ' .. last or ''))
  settle(d.channel, d.target)
end

local function tidy()
  local leases = call('ZRANGE', P .. 'leases', '-inf', at, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(leases) do recover(id) end
  local mortal = call('ZRANGE', P .. 'mortal', '-inf', wall, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(mortal) do expire(id) end
  local scheduled = call('ZRANGE', P .. 'scheduled', '-inf', wall, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(scheduled) do
    local d = load(id)
    call('ZREM', P .. 'scheduled', id)
    call('ZADD', P .. 'lane:' .. d.lane, d.seq, id)
    settle(d.channel, d.target)
  end
  call('ZREMRANGEBYSCORE', P .. 'pace', '-inf', at)
  return #leases + #mortal + #scheduled
end
"""

_TAKE = r"""
local worker, limit, lease, claim = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]

-- Lease the lane and return its first delivery, or see to it that the lane is no longer due.
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

-- What was handed out in an answer that never arrived is handed out again.
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
"""

# ARGV: …, rules, worker, limit, lease, token of this call, tokens of calls whose answers were lost.
CLAIM = script(
    _RULES
    + _RECOVER
    + _TAKE
    + r"""
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
""",
    flags=ALWAYS,
)

# ARGV: …, rules.
NEXT = script(
    _RULES
    + r"""
local best
local function consider(pause)
  if not best or pause < best then best = pause end
end
for name, base in pairs({leases = at, scheduled = wall, mortal = wall}) do
  local first = call('ZRANGE', P .. name, 0, 0, 'WITHSCORES')
  if first[1] then consider(first[2] - base) end
end
for channel, rule in pairs(rules) do
  local target, due = first_due(channel, '+inf')
  if target then
    open_account(channel, rule)
    consider(math.max(due, rule.free) - at)
  end
end
return {at, best and math.max(0, best) or -1}
""",
    flags="no-writes",
)

# ARGV: …, rules of the one channel, its name, target.
PACE = script(
    _RULES
    + r"""
keep_time()
local channel, target = ARGV[4], ARGV[5]
local rule = rules[channel]
open_account(channel, rule)
local turn = math.max(at, rule.free, lane_free(channel, target))
draw_all(channel, rule, target, turn)
return {at, turn - at}
""",
    flags=ALWAYS,
)
