#!lua flags=no-writes
-- ARGV: name of an index, oldest score, limit, and the score and member after which to begin.
local P, call = KEYS[1], redis.call
local index, oldest, count, score, last = P .. ARGV[1], tonumber(ARGV[2]), ARGV[3] + 0, ARGV[4], ARGV[5]
local start = 0
if score ~= '' then
  local rank = call('ZREVRANK', index, last)
  if rank then
    start = rank + 1
  else -- it has left the index
    start = call('ZCOUNT', index, '(' .. score, '+inf')
    for _, tied in ipairs(call('ZRANGE', index, score, score, 'BYSCORE', 'REV')) do
      if tied < last then break end
      start = start + 1
    end
  end
end
local found, rows = call('ZRANGE', index, start, start + count - 1, 'REV', 'WITHSCORES'), {}
for i = 1, #found, 2 do
  if oldest and tonumber(found[i + 1]) < oldest then break end
  rows[#rows + 1] = {found[i], found[i + 1], call('HGETALL', P .. 'd:' .. string.sub(found[i], 13))}
end
return rows
