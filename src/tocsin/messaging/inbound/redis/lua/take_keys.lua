#!lua
-- ARGV: …, for each key channel, key and age. The times of the keys of a channel are unique.
keep_time()
for i = 2, #ARGV, 3 do
  local known, time = P .. 'keys:' .. ARGV[i], at - tonumber(ARGV[i + 2])
  while #call('ZRANGE', known, time, time, 'BYSCORE', 'LIMIT', 0, 1) > 0 do time = time + 1 end
  call('ZADD', known, 'NX', time, ARGV[i + 1])
  call('SADD', P .. 'channels', ARGV[i])
end
return {at}
