#!lua flags=allow-oom
-- ARGV: …, ids. Removes deliveries in any state.
keep_time()
for i = 3, #ARGV do
  local d, key = load(ARGV[i]), call('HGET', P .. 'd:' .. ARGV[i], 'key')
  if d then
    wait_no_more(d)
    call('ZREM', P .. 'leases', d.id)
    call('ZREM', P .. 'done', d.id)
    if call('HGET', P .. 'busy', d.lane) == d.id then call('HDEL', P .. 'busy', d.lane) end
    for _, index in ipairs({'all', 'status:' .. d.status, 'channel:' .. d.channel, 'target:' .. d.target}) do
      call('ZREM', P .. index, member(d))
    end
    if key and key ~= '' and call('HGET', P .. 'keys', key) == d.id then call('HDEL', P .. 'keys', key) end
    call('DEL', P .. 'd:' .. d.id)
    settle(d.channel, d.target)
  end
end
return {at}
