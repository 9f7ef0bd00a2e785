-- The functions shared by all scripts; each script is one atomic step.
--
-- Keys, all below the prefix `KEYS[1]`, here `P`:
--
--     e:<seq>                   hash: one event; `by` is the process that ended it
--     seq                       the last number; numbers follow the order of arrival
--     all, status:<s>           sorted sets of numbers
--     open:<owner>              sorted set of the open events of a process; an empty owner means none
--     owners                    hash: process → number of its open events
--     chat:<channel>:<chat>     sorted set of the open events of a chat, without urgent ones
--     keys:<channel>            sorted set: dedupe keys by claim time; times are unique
--     channels                  set: the channels that have keys
--     bodies                    sorted set: ended events with content, by end time
--     cursors                   hash: name → position to continue from
--     lease:<name>              hash: the lease for fetching (`holder`, `token`, `until`)
--     changes                   stream: numbers of events whose state changed; only the latest are kept
--     clock                     hash: the time (time.lua)
--
-- A process whose event need not wait any more is notified on the topic `<prefix without brackets>woken:<owner>`.

local function key(seq)
  return P .. 'e:' .. seq
end

local function chat_of(e)
  return P .. 'chat:' .. e.channel .. ':' .. e.chat
end

-- Return an open event of `owner`.
local function held(seq, owner)
  local v = call('HMGET', key(seq), 'owner', 'status', 'channel', 'chat', 'urgent', 'finished_at', 'id')
  if v[1] ~= owner or v[6] then return nil end
  return {seq = seq, owner = owner, status = v[2], channel = v[3], chat = v[4], urgent = v[5], id = v[7]}
end

-- Notify the readers of the stream; 5,000 is `KEPT` of core/storage/change_stream.py.
local function note(seq)
  call('XADD', P .. 'changes', 'MAXLEN', '~', 5000, '*', 'id', seq)
end

local function move(e, status)
  call('ZREM', P .. 'status:' .. e.status, e.seq)
  call('ZADD', P .. 'status:' .. status, e.seq, e.seq)
  call('HSET', key(e.seq), 'status', status)
  e.status = status
  note(e.seq)
end

local function join(owner, seq)
  call('ZADD', P .. 'open:' .. owner, seq, seq)
  call('HINCRBY', P .. 'owners', owner, 1)
end

local function leave(owner, seq)
  call('ZREM', P .. 'open:' .. owner, seq)
  if call('HINCRBY', P .. 'owners', owner, -1) <= 0 then call('HDEL', P .. 'owners', owner) end
end

-- Notify the process whose event is now the first of its chat.
local function wake_next(e)
  local first = call('ZRANGE', chat_of(e), 0, 0)[1]
  local owner = first and call('HGET', key(first), 'owner')
  if owner and owner ~= '' and owner ~= e.owner then
    call('PUBLISH', string.gsub(P, '[{}]', '') .. 'woken:' .. owner, first)
  end
end
