#!lua flags=no-writes
-- ARGV: id.
local P, call = KEYS[1], redis.call
return call('HGETALL', P .. 'd:' .. ARGV[1])
