#!lua flags=allow-oom
-- ARGV: …, worker, then ids.
keep_time()
for i = 4, #ARGV do
  local d = held(ARGV[3], ARGV[i])
  if d then
    set(d, 'attempts', d.attempts - 1)
    move(d, 'queued')
    wait(d)
    free_lane(d)
  end
end
return {at}
