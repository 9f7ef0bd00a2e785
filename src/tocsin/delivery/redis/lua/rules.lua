-- `LATE_SHARE` of core/time/ratelimit.py
local LATE_SHARE = 0.1

-- Reads ARGV[3], the rules (JSON): channel → repeats, and the rates
-- `target`, `group` and `all` as {interval, burst}, the group's for targets that begin with `prefix`.
local rules = cjson.decode(ARGV[3])

-- The time from which a bucket has a free message, by its theoretical arrival time.
local function spare(tat, rate)
  return tat - (rate[2] - 1) * rate[1]
end

-- A hold beyond the limit was stored before the limit existed.
local function held_until(key)
  local ends = tonumber(call('ZSCORE', P .. 'pace', key)) or 0
  return ends <= at + LONGEST_HOLD_US and ends or 0
end

local function open_account(channel, rule)
  rule.free = held_until(pace_key('account', channel))
  if rule.all then
    rule.tat = tonumber(call('ZSCORE', P .. 'pace', pace_key('all', channel))) or 0
    rule.free = math.max(rule.free, spare(rule.tat, rule.all))
  end
end

-- Take one message, to be sent at `turn`, from a bucket of the lane; return when the next one may be sent.
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
    local late = turn - rule.tat
    if late < 0 or late > LATE_SHARE * rule.all[1] then rule.tat = math.max(turn, rule.tat) end
    rule.tat = rule.tat + rule.all[1]
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
