-- KEYS: a stream. ARGV: group, count. Returns the entries of a stream without groups; removes an empty one.
if redis.call('TYPE', KEYS[1]).ok ~= 'stream' or #redis.call('XINFO', 'GROUPS', KEYS[1]) > 0 then return {} end
if redis.call('XLEN', KEYS[1]) > 0 then return redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[2]) end
redis.call('DEL', KEYS[1])
return {}
