#!lua
-- KEYS: a stream for each message. ARGV: two fields' names, then text and key of each. Answers what failed.
local refused = {}
for i, stream in ipairs(KEYS) do
  local done = redis.pcall('XADD', stream, '*', ARGV[1], ARGV[2 * i + 1], ARGV[2], ARGV[2 * i + 2])
  if type(done) == 'table' then table.insert(refused, {i - 1, done.err}) end
end
return refused
