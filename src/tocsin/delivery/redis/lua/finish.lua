#!lua flags=allow-oom
-- ARGV: …, worker, id, status, wait, throttled, whole account, error, then names and values to keep.
keep_time()
local worker, status, pause, throttled = ARGV[3], ARGV[5], tonumber(ARGV[6]), ARGV[7] == '1'
local d, other = held(worker, ARGV[4])
if not d then
  -- A repeated call, whose first answer was lost.
  if other and call('HGET', P .. 'd:' .. other.id, 'ended_by') == worker then return {at, 1} end
  return {at, 0}
end
set(d, 'ended_by', worker, unpack(ARGV, 10))
if status == 'retry_wait' then
  move(d, status)
  set(d, 'next_at', wall + pause)
  if throttled then
    hold(pace_key('lane', d.channel, d.target), pause, ARGV[9])
  else
    set(d, 'failures', d.failures + 1)
  end
  if ARGV[8] == '1' then hold(pace_key('account', d.channel), pause, ARGV[9]) end
  wait(d, at + pause)
else
  close(d, status)
end
local earliest = call('ZSCORE', P .. 'pace', pace_key('lane', d.channel, d.target))
free_lane(d, tonumber(earliest))
return {at, 1}
