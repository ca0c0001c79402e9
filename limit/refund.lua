-- refund.lua: takes back what decide.lua charged at a time.
--
-- KEYS[1]  the identity's hash, as in decide.lua
-- ARGV[1]  numbers, packed as in decide.lua
--            now       7  in ms; 0, as always in production, reads TIME
--            at        7  of the reply that charged; 0 takes nothing back
--          then, for each field, once
--            limit     7
--            window    5  in ms
--            cost      7
-- then     the fields
-- reply    how many fields were changed
--
-- Touches only what that charge still stands in: its window, as the current or the previous one; the log's entries of
-- exactly that time; and of a bucket what has not been refilled since, for a bucket may have been full in between, and
-- then the charge is forgotten already. Stops at 0, creates nothing and leaves the expiry as it is.

local key = KEYS[1]
local now, at, place = struct.unpack('>I7I7', ARGV[1])

local function window(text, length, cost)
  local s, c, p = string.match(text, '^(%d+) (%d+) (%d+)$')
  if not s then return nil end
  local age = s * 1000 - (at - at % length)
  if age == 0 then
    c = math.max(0, c - cost)
  elseif age == length then
    p = math.max(0, p - cost)
  else
    return nil
  end
  return string.format('%s %d %d', s, c, p)
end

local function log(text, cost)
  if #text % 6 ~= 0 then return nil end
  local before, high = 0, #text / 6 -- the first "before" entries are older
  while before < high do
    local middle = math.floor((before + high + 1) / 2)
    if struct.unpack('>I6', text, 6 * middle - 5) >= at then high = middle - 1 else before = middle end
  end
  local after = before
  while after - before < cost and after < #text / 6 and struct.unpack('>I6', text, 6 * after + 1) == at do
    after = after + 1
  end
  return string.sub(text, 1, 6 * before) .. string.sub(text, 6 * after + 1)
end

local function bucket(text, now, limit, length, cost)
  local t, d = string.match(text, '^(%d+) (%d+)$')
  if not t then return nil end
  local since = math.max(now, t) - at
  local back = cost * length - since * limit
  if since < 0 or back <= 0 then return nil end
  return string.format('%s %d', t, math.max(0, d - back))
end

if at <= 0 then return 0 end
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local changed = 0
for i = 2, #ARGV do
  local field = ARGV[i]
  local limit, length, cost
  limit, length, cost, place = struct.unpack('>I7I5I7', ARGV[1], place)
  local text = redis.pcall('HGET', key, field)
  if text and text.err then
    if string.find(text.err, 'WRONGTYPE', 1, true) then return 0 end
    return text
  end
  if text then
    local family, left = string.match(field, '%a')
    if family == 'w' then
      left = window(text, length, cost)
    elseif family == 'l' then
      left = log(text, cost)
    else
      left = bucket(text, now, limit, length, cost)
    end
    if left == '' then
      redis.call('HDEL', key, field)
      changed = changed + 1
    elseif left and left ~= text then
      redis.call('HSET', key, field, left)
      changed = changed + 1
    end
  end
end
return changed
