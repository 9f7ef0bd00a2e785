#!lua flags=allow-oom
-- Set when the grace period of a file begins.
-- KEYS: all files. ARGV: SHA-256, Unix time.
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known then
  local file = cjson.decode(known)
  file.at = tonumber(ARGV[2])
  redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(file))
end
