#!lua
-- KEYS: one stream per message. ARGV: two field names, then text and key of each. Returns the failures.
local refused = {}
for i, stream in ipairs(KEYS) do
  local done = redis.pcall('XADD', stream, '*', ARGV[1], ARGV[2 * i + 1], ARGV[2], ARGV[2 * i + 2])
  if type(done) == 'table' then table.insert(refused, {i - 1, done.err}) end
end
return refused
