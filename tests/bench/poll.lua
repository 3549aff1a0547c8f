-- poll.lua: wrk asks for random tokens out of a file; the same for every server, so that
-- the cost of this script is the same on both sides. TOKENS=file in the environment.
local asks = {}

function init(args)
   for token in io.lines(os.getenv("TOKENS")) do
      asks[#asks + 1] = wrk.format("GET", "/v1/tickets/" .. token)
   end
end

function request()
   return asks[math.random(#asks)]
end

-- requests, microseconds, wrong answers, p50 and p99 in microseconds
function done(summary, latency, requests)
   local e = summary.errors
   io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration,
      e.status + e.connect + e.read + e.write + e.timeout,
      latency:percentile(50), latency:percentile(99)))
end
