-- SPDX-License-Identifier: Apache-2.0
-- wrk's part in the section `serve`. Without an argument the address given is asked for again and again; with a
-- folder, each request appends a line of its bodies.txt to a session of its sessions.txt. Which of them meet is drawn
-- beforehand, and then which of those requests is next: on a small machine wrk takes from what it measures.

local DRAWN = 8192

local function lines(path)
  local all = {}
  for line in io.lines(path) do all[#all + 1] = line end
  return all
end

function init(args)
  if not args[1] then return end
  local ids, bodies, requests = lines(args[1] .. "/sessions.txt"), lines(args[1] .. "/bodies.txt"), {}
  math.randomseed(os.time())
  for i = 1, DRAWN do
    local body = '{"kind":"message","body":' .. bodies[math.random(#bodies)] .. "}"
    requests[i] = wrk.format("POST", "/v1/sessions/" .. ids[math.random(#ids)] .. "/events",
      { ["Host"] = wrk.headers["Host"], ["Content-Type"] = "application/json" }, body)
  end
  function request()
    return requests[math.random(DRAWN)]
  end
end

-- One line of numbers, times in microseconds.
function done(summary, latency)
  local e = summary.errors
  print(string.format("load requests %d us %d bad %d p50 %d p90 %d p95 %d p99 %d max %d", summary.requests,
    summary.duration, e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50),
    latency:percentile(90), latency:percentile(95), latency:percentile(99), latency.max))
end
