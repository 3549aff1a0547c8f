#!/bin/bash
# More than a link holds before it is closed (64 MiB), wanted at one moment: many long answers told as they
# come, many results, many bodies that are submitted, many tasks that are taken; over real processes, with the
# node's files (sys_links) and with a Redis (sys_links_redis). Each waits where it is until the link has room: all arrive, whole, over
# the same link; and a router that is killed amid it leaves nothing behind that another one would hear.
. "$(dirname "$0")/lib.sh"
STORE=${STORE:-journal}
[ "$STORE" = journal ] || . "$here/redis.sh"

ulimit -n 20000 || fail "it needs 20000 descriptors"
cat >"$DIR/target.py" <<'EOT'
"""Answers each request with N bytes that its path names, as fast as they are taken."""
import asyncio
import sys

N = int(sys.argv[2])
block = bytes(range(256)) * 64


async def talk(r, w):
    try:
        while True:
            await r.readuntil(b"\r\n\r\n")
            w.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % N)
            for at in range(0, N, len(block)):
                w.write(block[:N - at])
                await w.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    w.close()


async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", int(sys.argv[1]), backlog=4000)
    await server.serve_forever()

asyncio.run(main())
EOT
cat >"$DIR/many.py" <<'EOT'
"""K requests at one moment: METHOD and PATH (with # for its number), B bytes of a body, the fields that
follow. Says how many ended how, and how long what arrived was."""
import asyncio
import collections
import sys

at, k, method, path, b, fields = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6:]
host, port = at.split(":")
ends = collections.Counter()


async def one(i):
    for _ in range(120):  # 503: nothing was done, on a machine so busy that links were given up; asked again
        end = await once(i)
        if not end.startswith("503"):
            break
        await asyncio.sleep(1)
    ends[end] += 1


async def once(i):
    text = "".join("%s\r\n" % f for f in fields)
    body = b'"' + b"x" * (b - 2) + b'"' if b else b""
    try:
        r, w = await asyncio.open_connection(host, int(port))
        w.write(("%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n"
                 % (method, path.replace("#", str(i)), b, text)).encode() + body)
        head = (await r.readuntil(b"\r\n\r\n")).decode().lower()
        status = head.split(" ")[1]
        length = next((int(x.split(":")[1]) for x in head.split("\r\n") if x.startswith("content-length:")), 0)
        got = 0
        while got < length and (p := await r.read(65536)):
            got += len(p)
        w.close()
        if status == "202":  # a machine so slow that its wait was over first: it is there later
            status = "200"
        return "%s %s" % (status, "whole" if got == length else "broken")
    except (OSError, asyncio.IncompleteReadError) as e:
        return type(e).__name__


async def main():
    await asyncio.gather(*[one(i) for i in range(k)])
    print(", ".join("%d x %s" % (ends[x], x) for x in sorted(ends)))

asyncio.run(main())
EOT
many() { python3 "$DIR/many.py" "${R#http://}" "$@"; }
too_slow() { cat "$C"/logs/*.log | grep -c "peer too slow"; } # links closed at their bound, ever
defines() { # NAME CONCURRENT
    admin PUT "/v1/admin/endpoints/$1" "{\"url\":\"http://127.0.0.1:$T/\",\"allow\":[\"127.0.0.0/8\"],
        \"deadline\":\"300s\",\"max_concurrent\":$2}" >/dev/null
}
ready() { [ "$(status_of -H "segq-token: $token" "$R/v1/call/$1/x")" = 200 ]; }
K=1400
at_once() { # URL "what"
    check_eq "$2: $K answers of 300 KB at once arrive as they come" \
        "$(R=$1 many $K GET /v1/call/gen/# 0 "segq-token: $token" "Prefer: wait=60")" "$K x 200 whole"
}
has_fewer() { [ "$(metric 47 segq_task_calls_in_flight)" = 0 ]; }

up --routers 2 --seg-nodes 1 --task-nodes 1 --task-store "$STORE"
T=$((PORT + 90))
helper python3 "$DIR/target.py" $T 300000
LONG=$H
token=$(task_token)
defines gen 3000
wait_for 20 "its queue takes calls" ready gen
at_once "$R" "a crowd"
check_eq "  over the same link" "$(too_slow)" 0

# ---- a router is killed amid it
router=$(pid_of router.0)
many $K GET /v1/call/gen/# 0 "segq-token: $token" "Prefer: wait=60" >"$DIR/amid" 2>&1 &
helpers+=($!)
CROWD=$!
begun() { [ "$(metric 30 segq_router_task_passed_answers_bytes_total)" -gt $((K * 300000 + 3000000)) ] || ! runs $CROWD; }
wait_for 60 "another crowd hears the first bytes" begun
kill -9 "$router"
at_once "$R2" "its router is killed: behind the other one"
wait_for 60 "the callers of the one that was killed know that" is_gone $CROWD
wait_for 60 "it is there again" restarted router.0 "$router"
wait_for 60 "no call is left of it" has_fewer
wait_for 60 "and it has the task node" ready gen
at_once "$R" "again"

# ---- told at their end
end_pid "$LONG"
helper python3 "$DIR/target.py" $T 65536
wait_for 20 "the target has shorter answers" ready gen
check_eq "$K of 64 KiB that are told at their end" \
    "$(many $K GET /v1/call/gen/# 0 "segq-token: $token" "Prefer: wait=60, whole")" "$K x 200 whole"
check_eq "no link was closed at its bound" "$(too_slow)" 0
