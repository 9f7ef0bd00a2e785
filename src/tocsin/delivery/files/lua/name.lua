#!lua
-- Name the chunks of a file; if it is there already, note that it was stored again.
-- KEYS: all files. ARGV: SHA-256, token of the chunks, size, Unix time. Returns the token of the chunks that count.
local known = redis.call('HGET', KEYS[1], ARGV[1])
local file = known and cjson.decode(known) or {token = ARGV[2], size = tonumber(ARGV[3])}
file.at = math.max(file.at or 0, tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(file))
return file.token
