#!lua flags=no-writes
-- ARGV: …, rules.
local best
local function consider(pause)
  if not best or pause < best then best = pause end
end
for name, base in pairs({leases = at, scheduled = wall, mortal = wall}) do
  local first = call('ZRANGE', P .. name, 0, 0, 'WITHSCORES')
  if first[1] then consider(first[2] - base) end
end
for channel, rule in pairs(rules) do
  local target, due = first_due(channel, '+inf')
  if target then
    open_account(channel, rule)
    consider(math.max(due, rule.free) - at)
  end
end
return {at, best and math.max(0, best) or -1}
