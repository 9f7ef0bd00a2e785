#!lua flags=no-writes
-- ARGV: rank to begin at (newest first), number of ids to read, then prefixes of ids or of their last groups.
-- Returns the number of ids read, and pairs of prefix and id.
local P, call = KEYS[1], redis.call
local sought, lengths, found = {}, {}, {}
for i = 3, #ARGV do
  if not sought[ARGV[i]] then lengths[#ARGV[i]] = true end
  sought[ARGV[i]] = true
end
local members = call('ZRANGE', P .. 'all', ARGV[1], ARGV[1] + ARGV[2] - 1, 'REV')
for _, member in ipairs(members) do
  for length in pairs(lengths) do
    local head, tail = string.sub(member, 13, 12 + length), string.sub(member, 37, 36 + length)
    local text = sought[head] and head or sought[tail] and tail
    if text then
      found[#found + 1] = text
      found[#found + 1] = string.sub(member, 13)
    end
  end
end
return {#members, found}
