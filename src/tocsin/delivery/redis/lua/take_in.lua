#!lua
-- ARGV: …, for each delivery id, channel, target, status, once, key, created, not_before, expires_at, time until its
-- next attempt, finished, fixed and changing (JSON), the message's key, thread. A known delivery is not changed.
keep_time()
for b = 3, #ARGV, 15 do
  local id, channel, target, status, once, key = unpack(ARGV, b, b + 5)
  if call('EXISTS', P .. 'd:' .. id) == 0 then
    local d = {id = id, channel = channel, target = target, lane = channel .. ':' .. target, status = status,
      seq = call('INCR', P .. 'seq') - 1, created = ARGV[b + 6], not_before = tonumber(ARGV[b + 7]),
      expires_at = tonumber(ARGV[b + 8])}
    local due, finished = tonumber(ARGV[b + 9]), tonumber(ARGV[b + 10])
    set(d, 'fixed', ARGV[b + 11], 'channel', channel, 'target', target, 'seq', d.seq, 'created', d.created,
      'status', status)
    for name, value in pairs(cjson.decode(ARGV[b + 12])) do
      if value ~= '' then set(d, name, value) end
    end
    if once == '1' then set(d, 'once', once) end
    d.mkey, d.thread = ARGV[b + 13], ARGV[b + 14]
    if d.mkey ~= '' or d.thread ~= '' then
      set(d, 'mkey', d.mkey, 'thread', d.thread)
      note_latest(d)
      if d.mkey ~= '' and not finished then call('HSET', message_of(d), 'waiting', id) end
    end
    local m = member(d)
    for _, index in ipairs({'all', 'status:' .. status, 'channel:' .. channel, 'target:' .. target}) do
      call('ZADD', P .. index, d.created, m)
    end
    if key ~= '' then
      set(d, 'key', key)
      call('HSETNX', P .. 'keys', key, id)
    end
    if finished then
      set(d, 'finished_at', finished)
      call('ZADD', P .. 'done', finished, id)
    else
      if due then set(d, 'due', string.format('%.0f', at + due), 'next_at', string.format('%.0f', wall + due)) end
      if d.expires_at then call('ZADD', P .. 'mortal', d.expires_at, id) end
      if d.not_before and d.not_before > wall then
        call('ZADD', P .. 'scheduled', d.not_before, id)
      else
        call('ZADD', P .. 'lane:' .. d.lane, d.seq, id)
        settle(channel, target)
      end
    end
  end
end
return {at}
