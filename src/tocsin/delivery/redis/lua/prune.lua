#!lua flags=allow-oom
-- ARGV: …, before, limit. The latest delivery of a message's key is kept longer, so that it can be edited.
local ids = call('ZRANGE', P .. 'done', '-inf', '(' .. ARGV[3], 'BYSCORE', 'LIMIT', 0, ARGV[4])
local function keep_longer(d)
  local is_latest = d.mkey ~= '' and call('HGET', message_of(d), 'latest') == d.id
  local is_root = d.thread ~= '' and call('HGET', thread_of(d), 'latest') == d.id
  if not is_latest and not is_root then return false end
  local finished = tonumber(call('HGET', P .. 'd:' .. d.id, 'finished_at'))
  if tonumber(call('ZSCORE', P .. 'done', d.id)) ~= finished then return false end
  call('ZADD', P .. 'done', string.format('%.0f', finished + KEYS_KEPT_US), d.id)
  return true
end

local function forget(id)
  local d, key = load(id), call('HGET', P .. 'd:' .. id, 'key')
  if keep_longer(d) then return end
  if d.thread ~= '' and call('HGET', thread_of(d), 'latest') == id then call('DEL', thread_of(d)) end
  if d.mkey ~= '' then
    for _, name in ipairs({'latest', 'waiting'}) do
      if call('HGET', message_of(d), name) == id then call('HDEL', message_of(d), name) end
    end
  end
  local m = member(d)
  for _, index in ipairs({'all', 'status:' .. d.status, 'channel:' .. d.channel, 'target:' .. d.target}) do
    call('ZREM', P .. index, m)
  end
  if key and key ~= '' and call('HGET', P .. 'keys', key) == id then call('HDEL', P .. 'keys', key) end
  call('ZREM', P .. 'done', id)
  call('DEL', P .. 'd:' .. id)
end

for _, id in ipairs(ids) do forget(id) end
return {at, #ids}
