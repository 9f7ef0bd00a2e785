#!lua flags=allow-oom,no-writes
-- ARGV: …, states. Returns for each state the number of events, and the number and time of the oldest event.
local answers = {}
for i = 2, #ARGV do
  local set = P .. 'status:' .. ARGV[i]
  local first = call('ZRANGE', set, 0, 0)[1]
  answers[#answers + 1] = {call('ZCARD', set), tonumber(first) or 0, first and call('HGET', key(first), 'accepted_at') or ''}
end
return {at, answers}
