-- KEYS: texts by key; if they are forgotten, keys by the second of their last change. ARGV: key, text before, text after,
-- either empty for none. Returns 0 if the text is another one by now.
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  if KEYS[2] then redis.call('ZREM', KEYS[2], ARGV[1]) end
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  if KEYS[2] then redis.call('ZADD', KEYS[2], redis.call('TIME')[1], ARGV[1]) end
end
return 1
