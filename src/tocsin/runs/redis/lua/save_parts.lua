-- Store steps or hosts of an active run. ARGV: the ID, then pairs of field and JSON.
local key = run_key(ARGV[1])
if redis.call('HEXISTS', key, 'version') == 0 then
  return 0
end
if redis.call('ZSCORE', prefix .. 'i:open', ARGV[1]) then
  for n = 2, #ARGV, 2 do
    put_part(key, ARGV[n], ARGV[n + 1])
  end
  redis.call('HINCRBY', key, 'version', 1)
  note_change(ARGV[1])
end
return 1
