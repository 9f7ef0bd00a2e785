#!lua flags=allow-oom
-- ARGV: …, id.
keep_time()
local d = load(ARGV[3])
if not d then return {at, 0} end
local waits = d.status == 'queued' or d.status == 'retry_wait'
if waits then
  wait_no_more(d)
  close(d, 'cancelled')
  settle(d.channel, d.target)
end
return {at, waits and 1 or 0, call('HGETALL', P .. 'd:' .. d.id)}
