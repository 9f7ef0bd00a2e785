-- Returns the record of a chat as it is stored: JSON, in which `details` is JSON as well and `at` is microseconds.
local function record(state, details)
  local time = redis.call('TIME')
  local at = string.format('%.0f', time[1] * 1000000 + time[2])
  return cjson.encode({state = state, details = details, at = at, told = false, notice = ''})
end
