-- Store changed runs, unless the data that the change depends on has changed since it was read.
-- ARGV: JSON with `kinds` (kind -> expected number), `puts` and `removes` (IDs).
-- Returns '' if all is stored, 'changed' if the data has changed, or the ID of the run with the same instant.
local wanted = cjson.decode(ARGV[1])

for kind, number in pairs(wanted.kinds) do
  if (redis.call('GET', prefix .. 'active:' .. kind) or '0') ~= number then
    return 'changed'
  end
end
local removed = {}
for _, id in ipairs(wanted.removes) do
  removed[id] = true
end
for _, put in ipairs(wanted.puts) do
  if (redis.call('HGET', run_key(put.id), 'version') or '0') ~= put.version then
    return 'changed'
  end
  if put.version == '0' and put.instant ~= '' then
    local known = redis.call('HGET', prefix .. 'instants', put.instant)
    if known and not removed[known] then
      return known
    end
  end
end

for _, id in ipairs(wanted.removes) do
  remove(id)
end
for _, put in ipairs(wanted.puts) do
  local key = run_key(put.id)
  leave_places(key)
  redis.call('HSET', key, 'doc', put.doc, 'places', put.places)
  redis.call('HINCRBY', key, 'version', 1)
  for _, place in ipairs(cjson.decode(put.places)) do
    redis.call('ZADD', prefix .. 'i:' .. place[1], place[2], place[3])
  end
  if put.version == '0' then
    redis.call('SADD', prefix .. 'subjects', put.subject)
    if put.instant ~= '' then
      redis.call('HSET', key, 'instant', put.instant)
      redis.call('HSET', prefix .. 'instants', put.instant, put.id)
    end
  end
  for _, part in ipairs(put.parts) do
    put_part(key, part[1], part[2])
  end
  if put.active ~= '' then
    redis.call('INCR', prefix .. 'active:' .. put.active)
  end
  if put.total ~= '' then
    local totals = prefix .. 'totals'
    redis.call('HINCRBY', totals, put.total .. '\31runs', 1)
    redis.call('HINCRBYFLOAT', totals, put.total .. '\31seconds', put.seconds)
    redis.call('HSET', totals, put.total .. '\31at', put.at)
  end
  note_change(put.id)
end
return ''
