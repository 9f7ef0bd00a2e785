#!lua flags=allow-oom
-- ARGV: …, worker, lease, then ids.
keep_time()
local mine = {}
for i = 5, #ARGV do
  if held(ARGV[3], ARGV[i]) then
    call('ZADD', P .. 'leases', at + ARGV[4], ARGV[i])
    mine[#mine + 1] = ARGV[i]
  end
end
return {at, mine}
