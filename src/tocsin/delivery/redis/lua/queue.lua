-- The functions shared by all scripts; each script is one atomic step.
--
-- Keys, all below the prefix `KEYS[1]`, here `P`, whose hash tag keeps them in one slot of a cluster:
--
--     d:<id>                   hash: one delivery
--     lane:<channel>:<target>  sorted set of waiting ids by acceptance; scheduled ones are not in it yet
--     due:<channel>            sorted set of targets by the time when their lane is due, without lanes in flight
--     busy                     hash: lane → the delivery that is in flight
--     leases                   sorted set: deliveries in flight by the end of their lease
--     pace                     sorted set: buckets by the time when they are full again (GCRA), blocks by their end
--     why:<block>              JSON: end of the hold, and the provider's reason, for display
--     scheduled, mortal        sorted sets: waiting ids by `not_before`, by `expires_at` (wall time)
--     all, status:<s>, channel:<c>, target:<t>   sorted sets for searching, by creation (wall time)
--     done                     sorted set: finished ids by end time
--     keys                     hash: idempotency key → id
--     message:<channel>:<target>:<key>   hash: `waiting` and `latest` (sent, or perhaps sent) delivery of a message's key
--     changes                  stream: ids of deliveries whose state changed; only the latest are kept
--     clock                    hash: the queue's own time, and the server's clock at that time
--
-- All times are whole microseconds, which a double holds exactly until the year 2255. The queue's own
-- time is not the server's clock, which may jump: every client states the time by its own monotonic clock,
-- and the latest wins (docs/decisions/0010-redis-store.md).

-- Follows core/storage/lua/time.lua, which defines `P`, `call`, `at` and `keep_time`. ARGV[2]: the caller's wall time.
local wall = tonumber(ARGV[2])

local function load(id)
  local v = call('HMGET', P .. 'd:' .. id, 'channel', 'target', 'status', 'seq', 'created', 'worker', 'attempts',
    'failures', 'once', 'repeats', 'due', 'not_before', 'expires_at', 'mkey', 'operation',
    'thread')
  if not v[1] then return nil end
  return {id = id, channel = v[1], target = v[2], status = v[3], seq = v[4], created = v[5], worker = v[6],
    attempts = tonumber(v[7]) or 0, failures = tonumber(v[8]) or 0, once = v[9], repeats = v[10],
    due = tonumber(v[11]), not_before = tonumber(v[12]), expires_at = tonumber(v[13]), lane = v[1] .. ':' .. v[2],
    mkey = v[14] or '', operation = v[15] or 'send', thread = v[16] or ''}
end

-- A slash cannot occur in a key.
local function thread_of(d)
  return P .. 'message:' .. d.lane .. ':thread/' .. d.thread
end

local function message_of(d)
  return P .. 'message:' .. d.lane .. ':' .. d.mkey
end

-- A sent delivery, or one that may have been sent, is what later ones with its key refer to.
local function note_latest(d)
  if d.mkey ~= '' and (d.status == 'sent' or d.status == 'uncertain') then
    call('HSET', message_of(d), 'latest', d.id)
  end
  local ref = d.thread ~= '' and d.status == 'sent' and call('HGET', P .. 'd:' .. d.id, 'ref')
  if ref and ref ~= '' then call('HSETNX', thread_of(d), 'latest', d.id) end
end

-- Sorts deliveries with the same time by acceptance.
local function member(d)
  return string.format('%012x', d.seq) .. d.id
end

local function set(d, ...)
  call('HSET', P .. 'd:' .. d.id, ...)
end

-- Notify the readers of the stream; 5,000 is `KEPT` of core/storage/change_stream.py.
local function note(id)
  call('XADD', P .. 'changes', 'MAXLEN', '~', 5000, '*', 'id', id)
end

local function move(d, status)
  call('ZREM', P .. 'status:' .. d.status, member(d))
  call('ZADD', P .. 'status:' .. status, d.created, member(d))
  set(d, 'status', status)
  d.status = status
  note(d.id)
end

-- Compute when a lane is due, unless it is in flight; `earliest` is a lower bound from its pace.
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

-- Make a delivery wait; `due` is set if it waits for its retry. A scheduled delivery joins its lane at its time.
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
  note_latest(d)
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

-- Hold a bucket, as the provider requested; `why:<key>` stores the reason of the longest hold, for display.
local function hold(key, pause, reason)
  block(key, at + pause)
  local known = call('GET', P .. 'why:' .. key)
  if not known or tonumber(cjson.decode(known)[1]) < at + pause then
    local told = cjson.encode({string.format('%.0f', at + pause), reason})
    call('SET', P .. 'why:' .. key, told, 'PX', math.max(1, math.ceil(pause / 1000)))
  end
end
