#!lua flags=no-writes
-- ARGV: channel and target of each delivery. Returns the holds of target and account, and the lane's first delivery.
local P, call = KEYS[1], redis.call
local rows = {}
for i = 1, #ARGV, 2 do
  local channel, target = ARGV[i], ARGV[i + 1]
  local first = call('ZRANGE', P .. 'lane:' .. channel .. ':' .. target, 0, 0)[1]
  rows[#rows + 1] = {
    call('GET', P .. 'why:lane:' .. channel .. ':' .. target),
    call('GET', P .. 'why:account:' .. channel .. ':'),
    first and call('HGETALL', P .. 'd:' .. first) or {},
  }
end
return rows
