for place, raw in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local known, entry = pcall(cjson.decode, raw)
  if known and type(entry) == 'table' and entry.message_id == ARGV[1] and entry.role == ARGV[2] then
    redis.call('LSET', KEYS[1], place - 1, ARGV[3])
    redis.call('EXPIRE', KEYS[1], ARGV[4])
    return 1
  end
end
return 0
