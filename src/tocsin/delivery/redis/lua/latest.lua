#!lua flags=no-writes
-- ARGV: channel, target, key of a message.
local P = KEYS[1]
local id = redis.call('HGET', P .. 'message:' .. ARGV[1] .. ':' .. ARGV[2] .. ':' .. ARGV[3], 'latest')
return id and redis.call('HGETALL', P .. 'd:' .. id) or {}
