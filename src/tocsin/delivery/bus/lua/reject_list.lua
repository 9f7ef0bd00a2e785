local function reject(list, record)
  local kind = redis.call('TYPE', list).ok
  if kind ~= 'list' and kind ~= 'none' then redis.call('RENAME', list, list .. ':aside') end
  redis.call('LPUSH', list, record)
  redis.call('LTRIM', list, 0, MAX_REJECTED - 1)
end
