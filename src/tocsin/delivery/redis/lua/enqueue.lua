#!lua
-- ARGV: …, for each delivery id, channel, target, once, key, not_before, expires_at, fixed (JSON).
keep_time()
local n = (#ARGV - 2) / 8
local seq = call('INCRBY', P .. 'seq', n) - n
local answers = {}
for i = 0, n - 1 do
  local b = 2 + i * 8
  local id, channel, target, once, key = ARGV[b + 1], ARGV[b + 2], ARGV[b + 3], ARGV[b + 4], ARGV[b + 5]
  local known = nil
  if call('EXISTS', P .. 'd:' .. id) == 1 then
    known = id -- a repeated call, whose first answer was lost
  elseif key ~= '' then
    known = call('HGET', P .. 'keys', key)
    local age = known and wall - (tonumber(call('HGET', P .. 'd:' .. known, 'created')) or 0)
    if age and age >= IDEMPOTENCY_US then known = nil end
  end
  if known then
    answers[i + 1] = call('HGETALL', P .. 'd:' .. known)
  else
    local d = {id = id, channel = channel, target = target, seq = seq + i, created = wall,
      lane = channel .. ':' .. target, status = 'queued',
      not_before = tonumber(ARGV[b + 6]), expires_at = tonumber(ARGV[b + 7])}
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
      -- A delivery behind others does not change when the lane is due.
      if call('ZCARD', P .. 'lane:' .. d.lane) == 1 then settle(channel, target) end
    end
    note(id)
    answers[i + 1] = 0
  end
end
return {at, answers}
