#!lua flags=allow-oom
-- ARGV: …, number of rows to keep, maximum number of rows to change. Returns the number of changed rows.
local rows, most, changed = tonumber(ARGV[2]), tonumber(ARGV[3]), 0
for _, channel in ipairs(call('SMEMBERS', P .. 'channels')) do
  call('ZREMRANGEBYSCORE', P .. 'keys:' .. channel, '-inf', at - KEYS_KEPT_US)
end
local before = string.format('(%.0f', at - BODIES_KEPT_US)
for _, seq in ipairs(call('ZRANGE', P .. 'bodies', '-inf', before, 'BYSCORE', 'LIMIT', 0, most)) do
  call('HDEL', key(seq), 'message')
  call('ZREM', P .. 'bodies', seq)
  changed = changed + 1
end
local last = tonumber(call('ZRANGE', P .. 'all', -1, -1)[1]) or 0
for _, status in ipairs({'answered', 'ignored', 'failed'}) do
  local set = P .. 'status:' .. status
  for _, seq in ipairs(call('ZRANGE', set, '-inf', last - rows, 'BYSCORE', 'LIMIT', 0, most)) do
    call('DEL', key(seq))
    for _, index in ipairs({set, P .. 'all', P .. 'bodies'}) do call('ZREM', index, seq) end
    changed = changed + 1
  end
end
return {at, changed}
