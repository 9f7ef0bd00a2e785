-- The keys of the store; KEYS[1] is their prefix, which contains the hash tag.
--   r:<id>         hash: version, doc (JSON), places (JSON: the sorted sets with the run), instant, parts (number),
--                  and for each step or host p:<kind>:<name> = <position>:<JSON>
--   i:<name>       sorted sets of runs by ID, or by the time they were queued at
--   instants       hash: scheduled instant -> ID
--   active:<kind>  a counter of the changes of active runs of the kind
--   totals         hash: <kind> <status> <bucket> <figure>, separated by \31, of the ended runs; see `runs/engine/metrics.py`
--   subjects       set of all kinds and subjects
--   changes        stream of the IDs of changed runs
local prefix = KEYS[1]

local function run_key(id)
  return prefix .. 'r:' .. id
end

local function leave_places(key)
  for _, place in ipairs(cjson.decode(redis.call('HGET', key, 'places') or '[]')) do
    redis.call('ZREM', prefix .. 'i:' .. place[1], place[3])
  end
end

local function note_change(id)
  redis.call('XADD', prefix .. 'changes', 'MAXLEN', '~', KEPT, '*', 'id', id)
end

local function put_part(key, field, text)
  local known = redis.call('HGET', key, field)
  local position = known and string.match(known, '^%d+') or redis.call('HINCRBY', key, 'parts', 1)
  redis.call('HSET', key, field, position .. ':' .. text)
end

local function remove(id)
  local key = run_key(id)
  leave_places(key)
  local instant = redis.call('HGET', key, 'instant')
  if instant and redis.call('HGET', prefix .. 'instants', instant) == id then
    redis.call('HDEL', prefix .. 'instants', instant)
  end
  redis.call('DEL', key)
  note_change(id)
end
