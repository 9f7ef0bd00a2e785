#!lua
-- ARGV: …, for each finished delivery id, channel, target, status, key, created, finished, fixed, changing (JSON), the
-- message's key, thread.
for b = 3, #ARGV, 11 do
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
    d.mkey, d.thread, d.status, d.lane = ARGV[b + 9], ARGV[b + 10], status, channel .. ':' .. target
    if d.mkey ~= '' or d.thread ~= '' then
      set(d, 'mkey', d.mkey, 'thread', d.thread)
      note_latest(d)
    end
    note(id)
    if key ~= '' then call('HSETNX', P .. 'keys', key, id) end
  end
end
return {at}
