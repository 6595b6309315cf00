-- SPDX-License-Identifier: Apache-2.0
-- wrk's part in the section `serve`. Without an argument the address given is asked for again and again; with a
-- folder, each request appends a line of its bodies.txt to a session of its sessions.txt, both chosen at random.

local function lines(path)
  local all = {}
  for line in io.lines(path) do all[#all + 1] = line end
  return all
end

function init(args)
  if not args[1] then return end
  local ids, bodies = lines(args[1] .. "/sessions.txt"), lines(args[1] .. "/bodies.txt")
  local head = "/events HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nContent-Type: application/json\r\n"
  for i, body in ipairs(bodies) do
    body = '{"kind":"message","body":' .. body .. "}"
    bodies[i] = head .. "Content-Length: " .. #body .. "\r\n\r\n" .. body
  end
  for i, id in ipairs(ids) do ids[i] = "POST /v1/sessions/" .. id end
  math.randomseed(os.time())
  function request()
    return ids[math.random(#ids)] .. bodies[math.random(#bodies)]
  end
end

-- One line of numbers, times in microseconds.
function done(summary, latency)
  local e = summary.errors
  print(string.format("load requests %d us %d bad %d p50 %d p90 %d p95 %d p99 %d max %d", summary.requests,
    summary.duration, e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50),
    latency:percentile(90), latency:percentile(95), latency:percentile(99), latency.max))
end
