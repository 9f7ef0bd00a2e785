-- KEYS: names of before and of now, alternately. What is under both is merged, and what came later wins.
for i = 1, #KEYS, 2 do
  local old, new = KEYS[i], KEYS[i + 1]
  if redis.call('EXISTS', old) == 1 and redis.call('RENAMENX', old, new) == 0 then
    local kind = redis.call('TYPE', old).ok
    if kind == 'zset' then
      redis.call('ZUNIONSTORE', new, 2, new, old, 'AGGREGATE', 'MAX')
    elseif kind == 'hash' then
      local fields = redis.call('HGETALL', old)
      for at = 1, #fields, 2 do redis.call('HSETNX', new, fields[at], fields[at + 1]) end
    elseif kind == 'string' then
      local last, here = tonumber(redis.call('GET', old)), tonumber(redis.call('GET', new))
      if last and here and last > here then redis.call('SET', new, string.format('%.0f', last)) end
    end
    redis.call('DEL', old)
  end
end
