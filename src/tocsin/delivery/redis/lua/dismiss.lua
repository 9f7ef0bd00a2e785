#!lua flags=allow-oom
-- ARGV: …, id, statuses in which it needs a person.
keep_time()
local d = load(ARGV[3])
if not d then return {at, 0} end
for i = 4, #ARGV do
  if d.status == ARGV[i] then
    set(d, 'dismissed', 1)
    note(d.id)
    return {at, 1, call('HGETALL', P .. 'd:' .. d.id)}
  end
end
return {at, 0, call('HGETALL', P .. 'd:' .. d.id)}
