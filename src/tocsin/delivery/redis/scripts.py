"""The Lua of the Redis queue: each script is one step that happens wholly or not at all.

Keys, all below the prefix `KEYS[1]`:

    d:<id>                   hash: one delivery
    lane:<channel>:<target>  sorted set of waiting ids by acceptance; scheduled ones are not in it yet
    due:<channel>            sorted set of targets by when their lane may go; lanes in flight are not in it
    busy                     hash: lane → the delivery that is in flight
    leases                   sorted set: deliveries in flight by the end of their lease
    pace                     sorted set: buckets by when they are level again (GCRA), blocks by their end
    why:<block>              JSON: until when (wall time), and what the provider said; only to be shown
    scheduled, mortal        sorted sets: waiting ids by `not_before`, by `expires_at` (wall time)
    all, status:<s>, channel:<c>, target:<t>   sorted sets for searching, by creation (wall time)
    done                     sorted set: finished ids by when they finished
    keys                     hash: idempotency key → id
    clock                    hash: the queue's own time, and the server's clock when that was

All times are whole microseconds, which a double holds exactly until the year 2255. The queue's own
time is not the server's clock, which may jump: every client says how far the time must be by its own
monotonic clock, and the furthest wins (see docs/decisions/0010-redis-store.md).
"""

from tocsin.core.storage.redis_client import Script
from tocsin.delivery.model import IDEMPOTENCY_S

# Run at the start of every script. ARGV[1]: how far the time is, or empty; ARGV[2]: the caller's wall time.
_TIME = r"""
local P, call = KEYS[1], redis.call
local hint, wall = tonumber(ARGV[1]), tonumber(ARGV[2])
local known, time = call('HMGET', P .. 'clock', 'at', 'server'), call('TIME')
local server, last = time[1] * 1000000 + time[2], tonumber(known[1])
local at
if not last then
  at = hint or server
elseif hint then
  at = math.max(last, hint)
else
  at = last + math.max(0, server - known[2]) -- nobody has told yet: a client's first call
end
local function keep_time()
  call('HSET', P .. 'clock', 'at', at, 'server', server)
end
"""

_STEPS = r"""
local function load(id)
  local v = call('HMGET', P .. 'd:' .. id, 'channel', 'target', 'status', 'seq', 'created', 'worker', 'attempts',
    'failures', 'once', 'repeats', 'due', 'not_before', 'expires_at')
  if not v[1] then return nil end
  return {id = id, channel = v[1], target = v[2], status = v[3], seq = v[4], created = v[5], worker = v[6],
    attempts = tonumber(v[7]) or 0, failures = tonumber(v[8]) or 0, once = v[9], repeats = v[10],
    due = tonumber(v[11]), not_before = tonumber(v[12]), expires_at = tonumber(v[13]), lane = v[1] .. ':' .. v[2]}
end

-- Sorts deliveries of one moment by acceptance.
local function member(d)
  return string.format('%012x', d.seq) .. d.id
end

local function set(d, ...)
  call('HSET', P .. 'd:' .. d.id, ...)
end

local function move(d, status)
  call('ZREM', P .. 'status:' .. d.status, member(d))
  call('ZADD', P .. 'status:' .. status, d.created, member(d))
  set(d, 'status', status)
  d.status = status
end

-- Compute when a lane may go next, unless it is in flight; `earliest` is a bound from the pace.
local function settle(channel, target, earliest)
  local lane = channel .. ':' .. target
  if call('HEXISTS', P .. 'busy', lane) == 1 then return end
  local first = call('ZRANGE', P .. 'lane:' .. lane, 0, 0)[1]
  if not first then
    call('ZREM', P .. 'due:' .. channel, target)
    return
  end
  local due = tonumber(call('HGET', P .. 'd:' .. first, 'due')) or at
  call('ZADD', P .. 'due:' .. channel, math.max(due, earliest or due), target)
end

-- A delivery waits from now on; `due` is set for one that waits for its retry. One that is scheduled for
-- later goes to the others of its kind when its turn comes.
local function wait(d, due)
  if due then set(d, 'due', due) else call('HDEL', P .. 'd:' .. d.id, 'due') end
  if d.expires_at then call('ZADD', P .. 'mortal', d.expires_at, d.id) end
  call('ZADD', P .. 'lane:' .. d.lane, d.seq, d.id)
end

local function wait_no_more(d)
  call('ZREM', P .. 'lane:' .. d.lane, d.id)
  call('ZREM', P .. 'scheduled', d.id)
  call('ZREM', P .. 'mortal', d.id)
end

local function close(d, status)
  move(d, status)
  set(d, 'finished_at', wall)
  call('HDEL', P .. 'd:' .. d.id, 'due', 'next_at')
  call('ZADD', P .. 'done', wall, d.id)
end

local function free_lane(d, earliest)
  call('ZREM', P .. 'leases', d.id)
  call('HDEL', P .. 'busy', d.lane)
  call('HDEL', P .. 'd:' .. d.id, 'worker', 'claim')
  settle(d.channel, d.target, earliest)
end

local function held(worker, id)
  local d = load(id)
  if d and d.status == 'sending' and d.worker == worker then return d end
  return nil, d
end

local function pace_key(kind, channel, target)
  return kind .. ':' .. channel .. ':' .. (target or '')
end

local function block(key, until_)
  call('ZADD', P .. 'pace', 'GT', until_, key)
end

-- The provider wants nothing for so long; the longest hold tells its reason, for people, in `why:<key>`.
local function hold(key, pause, reason)
  block(key, at + pause)
  local known = call('GET', P .. 'why:' .. key)
  if not known or tonumber(cjson.decode(known)[1]) < wall + pause then
    local told = cjson.encode({string.format('%.0f', wall + pause), reason})
    call('SET', P .. 'why:' .. key, told, 'PX', math.max(1, math.ceil(pause / 1000)))
  end
end
"""


def script(body: str, *, flags: str = "", time: bool = True) -> Script:
    head = f"#!lua{f' flags={flags}' if flags else ''}\n"
    return Script(head + (_TIME + _STEPS if time else "local P, call = KEYS[1], redis.call\n") + body)


# What is accepted must still be finished when the memory is full; only more may not come in.
ALWAYS = "allow-oom"

# ARGV: …, for each delivery id, channel, target, once, key, not_before, expires_at, fixed (JSON).
ENQUEUE = script(rf"""
keep_time()
local n = (#ARGV - 2) / 8
local seq = call('INCRBY', P .. 'seq', n) - n
local answers = {{}}
for i = 0, n - 1 do
  local b = 2 + i * 8
  local id, channel, target, once, key = ARGV[b + 1], ARGV[b + 2], ARGV[b + 3], ARGV[b + 4], ARGV[b + 5]
  local known = nil
  if call('EXISTS', P .. 'd:' .. id) == 1 then
    known = id -- the same call again: its first answer was lost
  elseif key ~= '' then
    known = call('HGET', P .. 'keys', key)
    local age = known and wall - (tonumber(call('HGET', P .. 'd:' .. known, 'created')) or 0)
    if age and age >= {IDEMPOTENCY_S:.0f} * 1000000 then known = nil end
  end
  if known then
    answers[i + 1] = call('HGETALL', P .. 'd:' .. known)
  else
    local d = {{id = id, channel = channel, target = target, seq = seq + i, created = wall,
      lane = channel .. ':' .. target, status = 'queued',
      not_before = tonumber(ARGV[b + 6]), expires_at = tonumber(ARGV[b + 7])}}
    set(d, 'fixed', ARGV[b + 8], 'channel', channel, 'target', target, 'seq', d.seq, 'created', wall,
      'status', 'queued')
    if once == '1' then set(d, 'once', once) end
    if d.not_before then set(d, 'not_before', d.not_before) end
    local m = member(d)
    call('ZADD', P .. 'all', wall, m)
    call('ZADD', P .. 'status:queued', wall, m)
    call('ZADD', P .. 'channel:' .. channel, wall, m)
    call('ZADD', P .. 'target:' .. target, wall, m)
    if key ~= '' then
      set(d, 'key', key)
      call('HSET', P .. 'keys', key, id)
    end
    if d.expires_at then
      set(d, 'expires_at', d.expires_at)
      call('ZADD', P .. 'mortal', d.expires_at, id)
    end
    if d.not_before and d.not_before > wall then
      call('ZADD', P .. 'scheduled', d.not_before, id)
    else
      call('ZADD', P .. 'lane:' .. d.lane, d.seq, id)
      -- One that comes behind others changes nothing: the lane goes when its first may.
      if call('ZCARD', P .. 'lane:' .. d.lane) == 1 then settle(channel, target) end
    end
    answers[i + 1] = 0
  end
end
return {{at, answers}}
""")

# ARGV: …, for each finished delivery id, channel, target, status, key, created, finished, fixed, changing (JSON).
RECORD = script(r"""
for b = 3, #ARGV, 9 do
  local id, channel, target, status, key = ARGV[b], ARGV[b + 1], ARGV[b + 2], ARGV[b + 3], ARGV[b + 4]
  if call('EXISTS', P .. 'd:' .. id) == 0 then
    local created, finished = tonumber(ARGV[b + 5]), tonumber(ARGV[b + 6])
    local d = {id = id, seq = call('INCR', P .. 'seq') - 1}
    set(d, 'fixed', ARGV[b + 7], 'channel', channel, 'target', target, 'once', '0', 'key', key, 'seq', d.seq,
      'created', created, 'status', status, 'finished_at', finished)
    for name, value in pairs(cjson.decode(ARGV[b + 8])) do set(d, name, value) end
    local m = member(d)
    for _, index in ipairs({'all', 'status:' .. status, 'channel:' .. channel, 'target:' .. target}) do
      call('ZADD', P .. index, created, m)
    end
    call('ZADD', P .. 'done', finished, id)
    if key ~= '' then call('HSETNX', P .. 'keys', key, id) end
  end
end
return {at}
""")

# ARGV: …, worker, lease, then ids.
RENEW = script(
    r"""
keep_time()
local mine = {}
for i = 5, #ARGV do
  if held(ARGV[3], ARGV[i]) then
    call('ZADD', P .. 'leases', at + ARGV[4], ARGV[i])
    mine[#mine + 1] = ARGV[i]
  end
end
return {at, mine}
""",
    flags=ALWAYS,
)

# ARGV: …, worker, id, parts sent, parts in all.
PROGRESS = script(
    r"""
local d = held(ARGV[3], ARGV[4])
if not d then return {at, 0} end
set(d, 'parts_sent', ARGV[5], 'parts_total', ARGV[6])
return {at, 1}
""",
    flags=ALWAYS,
)

# ARGV: …, channel, target, wait, reason.
HOLD = script(
    r"""
keep_time()
hold(pace_key('lane', ARGV[3], ARGV[4]), tonumber(ARGV[5]), ARGV[6])
return {at}
""",
    flags=ALWAYS,
)

# ARGV: …, worker, id, status, wait, throttled, whole account, error, then names and values to keep.
FINISH = script(
    r"""
keep_time()
local worker, status, pause, throttled = ARGV[3], ARGV[5], tonumber(ARGV[6]), ARGV[7] == '1'
local d, other = held(worker, ARGV[4])
if not d then
  -- The same call again: its first answer was lost.
  if other and call('HGET', P .. 'd:' .. other.id, 'ended_by') == worker then return {at, 1} end
  return {at, 0}
end
set(d, 'ended_by', worker, unpack(ARGV, 10))
if status == 'retry_wait' then
  move(d, status)
  set(d, 'next_at', wall + pause)
  if throttled then
    hold(pace_key('lane', d.channel, d.target), pause, ARGV[9])
  else
    set(d, 'failures', d.failures + 1)
  end
  if ARGV[8] == '1' then hold(pace_key('account', d.channel), pause, ARGV[9]) end
  wait(d, at + pause)
else
  close(d, status)
end
local earliest = call('ZSCORE', P .. 'pace', pace_key('lane', d.channel, d.target))
free_lane(d, tonumber(earliest))
return {at, 1}
""",
    flags=ALWAYS,
)

# ARGV: …, worker, then ids.
RELEASE = script(
    r"""
keep_time()
for i = 4, #ARGV do
  local d = held(ARGV[3], ARGV[i])
  if d then
    set(d, 'attempts', d.attempts - 1)
    move(d, 'queued')
    wait(d)
    free_lane(d)
  end
end
return {at}
""",
    flags=ALWAYS,
)

# ARGV: …, id, statuses from which it may be replayed.
REPLAY = script(r"""
keep_time()
local d = load(ARGV[3])
if not d then return {at, 0} end
for i = 4, #ARGV do
  if d.status == ARGV[i] then
    move(d, 'queued')
    call('ZREM', P .. 'done', d.id)
    call('HDEL', P .. 'd:' .. d.id, 'finished_at', 'expires_at', 'error', 'error_class', 'ended_by')
    set(d, 'failures', 0)
    d.expires_at = nil
    wait(d)
    settle(d.channel, d.target)
    return {at, 1, call('HGETALL', P .. 'd:' .. d.id)}
  end
end
return {at, 0, call('HGETALL', P .. 'd:' .. d.id)}
""")

# ARGV: …, id.
RETRY = script(r"""
keep_time()
local d = load(ARGV[3])
if not d then return {at, 0} end
local waits = d.status == 'retry_wait'
if waits then
  call('HDEL', P .. 'd:' .. d.id, 'due')
  set(d, 'next_at', wall)
  settle(d.channel, d.target)
end
return {at, waits and 1 or 0, call('HGETALL', P .. 'd:' .. d.id)}
""")

# ARGV: …, id.
CANCEL = script(
    r"""
keep_time()
local d = load(ARGV[3])
if not d then return {at, 0} end
local waits = d.status == 'queued' or d.status == 'retry_wait'
if waits then
  wait_no_more(d)
  close(d, 'cancelled')
  settle(d.channel, d.target)
end
return {at, waits and 1 or 0, call('HGETALL', P .. 'd:' .. d.id)}
""",
    flags=ALWAYS,
)

# ARGV: …, before, how many at most.
PRUNE = script(
    r"""
local ids = call('ZRANGE', P .. 'done', '-inf', '(' .. ARGV[3], 'BYSCORE', 'LIMIT', 0, ARGV[4])
for _, id in ipairs(ids) do
  local d, key = load(id), call('HGET', P .. 'd:' .. id, 'key')
  local m = member(d)
  for _, index in ipairs({'all', 'status:' .. d.status, 'channel:' .. d.channel, 'target:' .. d.target}) do
    call('ZREM', P .. index, m)
  end
  if key and key ~= '' and call('HGET', P .. 'keys', key) == id then call('HDEL', P .. 'keys', key) end
  call('ZREM', P .. 'done', id)
  call('DEL', P .. 'd:' .. id)
end
return {at, #ids}
""",
    flags=ALWAYS,
)
