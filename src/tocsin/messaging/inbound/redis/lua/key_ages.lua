#!lua flags=no-writes
-- ARGV: …, channel, limit. Returns the oldest keys, each with its age.
local found = call('ZRANGE', P .. 'keys:' .. ARGV[2], 0, ARGV[3] - 1, 'WITHSCORES')
for i = 2, #found, 2 do found[i] = string.format('%.0f', at - found[i]) end
return {at, found}
