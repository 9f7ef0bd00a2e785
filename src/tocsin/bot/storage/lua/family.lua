-- KEYS: records by chat, moves by old ID, set of the former IDs of the chat; ARGV: chat.
local ids = {ARGV[1]}
local new = redis.call('HGET', KEYS[2], ARGV[1])
if new then ids[2] = new end
for _, old in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  if old ~= new then ids[#ids + 1] = old end
end
local found = {}
for place, id in ipairs(ids) do found[place] = {id, redis.call('HGET', KEYS[1], id)} end
return found
