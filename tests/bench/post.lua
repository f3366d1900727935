-- post: one JSON-RPC message, again and again, in a session.
-- Environment: BENCH_TOKEN, BENCH_SESSION (may be empty), BENCH_BODY.
wrk.method = "POST"
wrk.body = os.getenv("BENCH_BODY")
wrk.headers["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN")
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
local session = os.getenv("BENCH_SESSION") or ""
if session ~= "" then
	wrk.headers["Mcp-Session-Id"] = session
	wrk.headers["MCP-Protocol-Version"] = "2025-11-25"
end

-- One line for the runner: requests/s, p50 ms, p99 ms, errors, requests.
done = function(summary, latency)
	local e = summary.errors
	io.write(string.format("RESULT %.0f %.3f %.3f %d %d\n",
		summary.requests / (summary.duration / 1e6),
		latency:percentile(50) / 1000, latency:percentile(99) / 1000,
		e.connect + e.read + e.write + e.status + e.timeout,
		summary.requests))
end
