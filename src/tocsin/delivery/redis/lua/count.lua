#!lua flags=no-writes
-- ARGV: statuses.
local P, call = KEYS[1], redis.call
local counts = {}
for i, status in ipairs(ARGV) do counts[i] = call('ZCARD', P .. 'status:' .. status) end
return counts
