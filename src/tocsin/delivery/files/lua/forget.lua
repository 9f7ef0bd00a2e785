#!lua flags=allow-oom
-- Forget a file that was not stored again meanwhile.
-- KEYS: all files. ARGV: SHA-256, Unix time before which it was stored. Returns 1 if it is forgotten.
local known = redis.call('HGET', KEYS[1], ARGV[1])
if not known or cjson.decode(known).at > tonumber(ARGV[2]) then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
