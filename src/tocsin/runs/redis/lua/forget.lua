-- Delete runs with everything that belongs to them. ARGV: their IDs.
for _, id in ipairs(ARGV) do
  if redis.call('EXISTS', run_key(id)) == 1 then
    remove(id)
  end
end
return 1
