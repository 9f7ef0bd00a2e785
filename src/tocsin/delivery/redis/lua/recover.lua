local function max_failures(id)
  local source = cjson.decode(call('HGET', P .. 'd:' .. id, 'fixed')).source
  return string.find(PROMPT_SOURCES, ' ' .. source .. ' ', 1, true) and MAX_PROMPT_FAILURES or MAX_FAILURES
end

-- Same rules as `judge_abandoned`.
local function recover(id)
  local d = load(id)
  local again, spent = false, d.failures >= max_failures(id)
  if d.once == '1' and (d.repeats ~= '1' or spent) and d.operation == 'send' then
    close(d, 'uncertain')
  elseif spent then
    close(d, 'dead')
  else
    again = true
    move(d, 'queued')
    set(d, 'failures', d.failures + 1)
    wait(d)
  end
  set(d, 'error', again and SENT_AGAIN or OUTCOME_UNKNOWN, 'error_class', AMBIGUOUS)
  free_lane(d)
end

local function expire(id)
  local d = load(id)
  local last = call('HGET', P .. 'd:' .. id, 'error')
  wait_no_more(d)
  close(d, 'expired')
  set(d, 'error', LATE .. (last and last ~= '' and '; last try: ' .. last or ''))
  settle(d.channel, d.target)
end

local function tidy()
  local leases = call('ZRANGE', P .. 'leases', '-inf', at, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(leases) do recover(id) end
  local mortal = call('ZRANGE', P .. 'mortal', '-inf', wall, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(mortal) do expire(id) end
  local scheduled = call('ZRANGE', P .. 'scheduled', '-inf', wall, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(scheduled) do
    local d = load(id)
    call('ZREM', P .. 'scheduled', id)
    call('ZADD', P .. 'lane:' .. d.lane, d.seq, id)
    settle(d.channel, d.target)
  end
  call('ZREMRANGEBYSCORE', P .. 'pace', '-inf', at - 100000) -- what is a little late counts (rules.lua)
  return #leases + #mortal + #scheduled
end
