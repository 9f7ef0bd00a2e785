"""The Lua of the Redis queue that only reads, for people and for counting; see redis_scripts.py for the keys."""

from tocsin.delivery.redis.scripts import script

# ARGV: id.
GET = script("return call('HGETALL', P .. 'd:' .. ARGV[1])\n", flags="no-writes", time=False)

# ARGV: from which rank of the newest, how many to look at, then texts that ids or their last groups may begin with.
# Answers how many there were, and pairs of text and id.
MATCHING = script(
    r"""
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
""",
    flags="no-writes",
    time=False,
)

# ARGV: for each delivery its channel and target; answers what holds the target and the account, and the lane's first.
WHY = script(
    r"""
local rows = {}
for i = 1, #ARGV, 2 do
  local channel, target = ARGV[i], ARGV[i + 1]
  local first = call('ZRANGE', P .. 'lane:' .. channel .. ':' .. target, 0, 0)[1]
  rows[#rows + 1] = {
    call('GET', P .. 'why:lane:' .. channel .. ':' .. target),
    call('GET', P .. 'why:account:' .. channel .. ':'),
    first and call('HGETALL', P .. 'd:' .. first) or {},
  }
end
return rows
""",
    flags="no-writes",
    time=False,
)

# ARGV: name of an index, oldest score, how many to return, and after which score and member to begin.
SCAN = script(
    r"""
local index, oldest, count, score, last = P .. ARGV[1], tonumber(ARGV[2]), ARGV[3] + 0, ARGV[4], ARGV[5]
local start = 0
if score ~= '' then
  local rank = call('ZREVRANK', index, last)
  if rank then
    start = rank + 1
  else -- it has left the index
    start = call('ZCOUNT', index, '(' .. score, '+inf')
    for _, tied in ipairs(call('ZRANGE', index, score, score, 'BYSCORE', 'REV')) do
      if tied < last then break end
      start = start + 1
    end
  end
end
local found, rows = call('ZRANGE', index, start, start + count - 1, 'REV', 'WITHSCORES'), {}
for i = 1, #found, 2 do
  if oldest and tonumber(found[i + 1]) < oldest then break end
  rows[#rows + 1] = {found[i], found[i + 1], call('HGETALL', P .. 'd:' .. string.sub(found[i], 13))}
end
return rows
""",
    flags="no-writes",
    time=False,
)

# ARGV: statuses.
COUNT = script(
    r"""
local counts = {}
for i, status in ipairs(ARGV) do counts[i] = call('ZCARD', P .. 'status:' .. status) end
return counts
""",
    flags="no-writes",
    time=False,
)
