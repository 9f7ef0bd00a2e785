#!lua flags=no-writes
-- ARGV: from which rank of the newest, how many to look at, then texts that ids or their last groups may begin with.
-- Answers how many there were, and pairs of text and id.
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
