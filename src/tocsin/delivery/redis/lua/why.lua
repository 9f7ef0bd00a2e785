#!lua flags=no-writes
-- ARGV: for each delivery its channel and target; answers what holds the target and the account, and the lane's first.
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
