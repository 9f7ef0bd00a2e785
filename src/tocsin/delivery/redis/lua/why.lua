#!lua flags=no-writes
-- ARGV: …, channel and target of each delivery. Returns for each the holds of target and account (remaining
-- time and reason), and the first delivery of the lane.
local function held(key)
  local told = call('GET', P .. 'why:' .. key)
  if not told then return {} end
  local known = cjson.decode(told)
  local left = tonumber(known[1]) - at
  return left > 0 and {string.format('%.0f', left), known[2]} or {}
end

local rows = {}
for i = 3, #ARGV, 2 do
  local channel, target = ARGV[i], ARGV[i + 1]
  local first = call('ZRANGE', P .. 'lane:' .. channel .. ':' .. target, 0, 0)[1]
  rows[#rows + 1] = {
    held(pace_key('lane', channel, target)),
    held(pace_key('account', channel)),
    first and call('HGETALL', P .. 'd:' .. first) or {},
  }
end
return {at, rows}
