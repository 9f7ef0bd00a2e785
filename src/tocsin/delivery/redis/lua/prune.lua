#!lua flags=allow-oom
-- ARGV: …, before, limit.
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
