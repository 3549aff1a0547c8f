#!/usr/bin/python3
"""layers.py [OBJ]: the rooms of the product, and what each may use.

A room is a folder. ROOMS says which other rooms it may include, and whether it is pure: no
socket, file, clock, thread or randomness, in its includes and in what its objects call.
Checked, over every .c and .h:
  * a file includes only its own room, the rooms of its row, and the libraries of FOREIGN;
  * a pure room includes no header and calls no function of the ban lists (SHELL: files that
    are not pure in a room that is otherwise);
  * every header compiles alone; every .c has a header of its own name and includes it first
    (HEADERLESS: how many a room still has without; the number only falls);
  * no circles: headers that include each other, files whose functions need each other
    (CIRCLES: those that stay, each with its reason); no circle between rooms;
  * no room has more than MOST_MODULES modules (a .c, a .h, or both of one name).
OBJ: folder of objects of a whole build (build/rel/obj). Ends with "layers: N passed, N failed".
"""
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

from tree import claim, finish, read, sources

MOST_MODULES = 20
C = "common/"
PURE, MIXED = True, False
COMMON = [C + r for r in ("base", "ticket", "task", "config", "wire", "net", "http", "supervisor", "json", "submit")]
CALM = [C + r for r in ("base", "ticket", "task", "wire", "json")]  # what a pure core may use of common/
# room: (pure, rooms it may use)
ROOMS = {
    "common/base": (PURE, []),
    "common/ticket": (PURE, ["common/base"]),
    "common/config": (PURE, ["common/base"]),
    "common/task": (PURE, ["common/base"]),
    "common/recur": (PURE, ["common/base"]),
    "common/json": (PURE, ["common/base"]),
    "common/wire": (PURE, ["common/base", "common/ticket", "common/config", "common/recur", "common/task"]),
    "common/submit": (PURE, ["common/base", "common/ticket", "common/task", "common/json", "common/recur", "common/config",
                             "common/wire", "common/http"]),
    "common/net": (MIXED, ["common/base", "common/config", "common/wire"]),
    "common/http": (MIXED, ["common/base", "common/config", "common/net"]),
    "common/journal": (MIXED, ["common/base"]),
    "common/trail": (MIXED, ["common/base", "common/recur"]),
    "common/redis": (MIXED, ["common/base", "common/config", "common/net", "common/ticket"]),
    "common/supervisor": (MIXED, ["common/base", "common/ticket", "common/config", "common/net"]),
    "common/node": (MIXED, ["common/base", "common/ticket", "common/config", "common/wire", "common/net",
                            "common/http", "common/supervisor"]),
    "router/gate": (PURE, CALM + ["common/config", "common/http"]),
    "router/page": (PURE, CALM + ["common/config", "common/http"]),
    "router/replica": (PURE, CALM + ["router/gate"]),
    "router/flow": (PURE, CALM + ["router/gate", "router/page", "router/replica"]),
    "router/api": (PURE, CALM + ["common/submit", "common/config", "common/http", "router/flow", "router/gate"]),
    "router/compat": (PURE, CALM + ["common/submit", "common/http", "router/flow", "router/gate", "router/api",
                                    "router/replica", "router/task_api"]),
    "router/state": (MIXED, COMMON + ["router/gate", "router/flow", "router/api", "router/replica",
                                      "router/compat"]),
    "router/task_api": (PURE, CALM + ["common/submit", "common/recur", "common/config", "common/http", "router/gate", "router/flow", "router/api"]),
    "router/task_requests": (MIXED, COMMON + ["router/flow", "router/api", "router/task_api", "router/state"]),
    "router/links": (MIXED, COMMON + ["router/gate", "router/flow", "router/api", "router/replica",
                                      "router/state", "router/task_requests", "task/calls", "task/out"]),
    "router/calls": (MIXED, COMMON + ["router/gate", "router/flow", "router/api", "router/compat",
                                      "router/replica", "router/state", "router/links"]),
    "router/page_http": (MIXED, COMMON + ["router/gate", "router/page", "router/flow", "router/api",
                                     "router/state", "router/links", "router/calls"]),
    "router/service": (MIXED, COMMON + ["router/gate", "router/replica", "router/flow", "router/api",
                                        "router/compat", "router/state", "router/task_requests",
                                        "router/links", "router/calls", "router/page_http"]),
    "segment/line": (PURE, CALM),
    "segment/copy": (PURE, CALM + ["segment/line"]),
    "segment/audit": (MIXED, ["common/base", "common/trail", "segment/line"]),
    "segment/core": (PURE, CALM + ["segment/line", "segment/copy", "segment/audit"]),
    "segment/directory": (PURE, CALM + ["segment/line", "segment/core"]),
    "segment/tickets": (PURE, CALM + ["segment/line", "segment/copy", "segment/audit",
                                      "segment/core", "segment/directory"]),
    "segment/replica": (PURE, CALM + ["segment/line", "segment/copy", "segment/core",
                                      "segment/tickets"]),
    "segment/transfer": (PURE, CALM + ["segment/line", "segment/copy", "segment/core",
                                       "segment/directory", "segment/tickets"]),
    "segment/restore": (PURE, CALM + ["segment/line", "segment/copy",
                                      "segment/core", "segment/directory", "segment/tickets",
                                      "segment/transfer"]),
    "segment/node": (PURE, CALM + ["segment/line", "segment/core", "segment/directory",
                                   "segment/tickets", "segment/replica", "segment/transfer", "segment/restore"]),
    "segment/service": (MIXED, COMMON + ["common/journal", "common/node", "common/trail", "segment/audit", "segment/core", "segment/node",
                                     "segment/tickets", "segment/replica", "segment/restore"]),
    "task/containers": (PURE, ["common/base", "common/task"]),
    "task/store": (PURE, ["common/base", "common/task", "task/containers"]),
    "task/keys": (PURE, ["common/base", "common/task", "task/containers", "task/store"]),
    "task/bodies": (MIXED, ["common/base", "common/task", "common/journal"]),
    "task/engine": (PURE, ["common/base", "common/task", "common/recur", "task/containers", "task/store", "task/keys"]),
    "task/schedules": (PURE, CALM + ["common/submit", "common/recur", "task/store"]),
    "task/calls": (PURE, CALM + ["common/recur", "task/containers", "task/store"]),
    "task/out": (MIXED, ["common/base", "common/http", "common/net", "common/task", "task/calls"]),
    "task/node": (PURE, CALM + ["common/recur", "common/trail", "task/schedules", "task/calls", "task/containers",
                                "task/store", "task/keys", "task/engine"]),
    "task/redis": (MIXED, ["common/base", "common/net", "common/redis", "common/wire", "task/store"]),
    "task/service": (MIXED, COMMON + ["common/journal", "common/node", "common/recur", "common/redis", "common/trail",
                                      "task/store", "task/engine", "task/schedules", "task/bodies", "task/calls",
                                      "task/node", "task/out", "task/redis"]),
    "queuemng/policy": (PURE, CALM + ["common/config", "common/recur"]),
    "queuemng/access": (MIXED, ["common/base", "common/config", "queuemng/policy"]),
    "queuemng/state": (PURE, CALM + ["common/config", "common/recur", "queuemng/policy"]),
    "queuemng/chain": (PURE, CALM + ["common/config", "queuemng/policy", "queuemng/state"]),
    "queuemng/release": (PURE, CALM + ["common/config", "queuemng/policy", "queuemng/state", "queuemng/chain"]),
    "queuemng/tasks": (PURE, CALM + ["common/config", "common/recur", "queuemng/policy", "queuemng/state", "queuemng/release"]),
    "queuemng/core": (PURE, CALM + ["common/config", "common/recur", "queuemng/policy", "queuemng/state",
                                    "queuemng/chain", "queuemng/release",
                                    "queuemng/tasks"]),
    "queuemng/store": (MIXED, ["common/base", "common/journal", "common/net", "common/redis"]),
    "queuemng/monitor": (MIXED, ["common/base", "common/net", "common/http", "queuemng/policy"]),
    "queuemng/logbook": (MIXED, ["common/base", "common/task"]),
    "queuemng/process": (MIXED, COMMON + ["common/redis", "queuemng/access", "queuemng/policy", "queuemng/state",
                                       "queuemng/core", "queuemng/store", "queuemng/monitor", "queuemng/logbook"]),
    "queuemng/admin": (MIXED, COMMON + ["common/recur", "queuemng/access", "queuemng/policy", "queuemng/state", "queuemng/core",
                                        "queuemng/logbook", "queuemng/process"]),
    "queuemng/service": (MIXED, COMMON + ["common/recur", "common/redis", "queuemng/access", "queuemng/policy", "queuemng/state",
                                          "queuemng/core", "queuemng/store", "queuemng/monitor",
                                          "queuemng/logbook", "queuemng/process", "queuemng/admin"]),
    "rehearse": (PURE, ["common/base", "common/config", "common/ticket", "segment/line", "queuemng/policy"]),
    "queuemng/ctl_view": (PURE, ["common/base", "common/config", "common/task"]),
    "queuemng/ctl_ask": (MIXED, ["common/base", "common/config", "common/task", "queuemng/policy",
                                 "queuemng/ctl_view"]),
    "queuemng/ctl_measure": (MIXED, ["common/base", "common/http", "common/config", "queuemng/ctl_ask", "rehearse"]),
    "queuemng/ctl": (MIXED, ["common/base", "common/config", "common/json", "common/ticket", "common/task",
                             "common/supervisor", "common/trail", "queuemng/access", "queuemng/policy", "rehearse",
                             "queuemng/ctl_ask", "queuemng/ctl_measure", "queuemng/ctl_view"]),
}
# Files that are not pure in a room that is.
SHELL = {
    "common/base/file", "common/base/log", "common/base/failpoint", "common/base/rng",
    "common/base/memory",
    "common/ticket/keys", "queuemng/ctl_view/text",
    "common/config/cfg_load", "common/recur/zones",
}
# Headers of libraries, and who may include them.
FOREIGN = {
    r"\.pb-c\.h": r"common/wire/codec_\w+\.[ch]",
    r"<yaml\.h": r"(common/config/cfg_load|queuemng/ctl_ask/def_change)\.c",
    r"event2/": r"common/net/\w+\.[ch]|queuemng/(monitor|ctl|ctl_ask)/\w+\.[ch]",
    r"hiredis": r"common/redis/redis_(conn|ans)\.[ch]",
    r"curl/": r"task/out/\w+\.[ch]|queuemng/ctl_ask/http\.c",
    r"openssl/": r"common/net/tls(_server|_wire)?\.c|task/out/trust\.c|common/task/sha256\.c|router/gate/p256\.c|router/state/contact\.c",
    r"<zlib\.h": r"router/page/template\.c",
}
BAN_INCLUDE = re.compile(
    r"event2/|hiredis|sys/socket|netinet/|arpa/|netdb|sys/epoll|<time\.h>|sys/time\.h|<poll\.h>"
    r"|<fcntl\.h>|sys/stat|dirent|pthread|semaphore|stdatomic|sys/random|sys/mman|<unistd\.h>|<signal\.h>")
BAN_CALL = re.compile(
    r"^(socket|connect|bind|listen|accept4?|recv\w*|send\w*|select|poll|epoll_\w+"  # sockets
    r"|open(at)?(64)?|read|write|pread\w*|pwrite\w*|f?sync|fdatasync|unlink|rename\w*|mkdir|f(re)?open(64)?"
    r"|fread|fwrite|opendir|stat(64)?|fstat(64)?|mmap(64)?"                          # files
    r"|time|clock(_gettime|_nanosleep)?|gettimeofday|usleep|nanosleep|sleep|localtime(_r)?"  # clocks
    r"|fork|execv\w*|kill|pthread_\w+|sem_\w+"                                        # threads
    r"|rand(om)?(_r)?|srand\w*|getrandom|getentropy|randombytes_\w+)$")               # randomness

# Circles of files that stay, each with its reason. The rest of the list is work to be done.
CIRCLES = {
}
# Files without a header of their own, by room.
HEADERLESS = {
}
MAIN = re.compile(r"(main|segqctl)\.c$")
OBJECT = {"common/supervisor/main.c": "common/supervisor/rt_cluster"}  # compiled once for each supervisor


def includes(path):
    return re.findall(r'^#include\s+(["<][^">]+[">])', read(path), re.M)


def check_rooms(files):
    modules = {os.path.splitext(f)[0] for f in files}
    for room, n in collections.Counter(map(os.path.dirname, modules)).items():
        claim(room in ROOMS, f"{room} has no row in ROOMS")
        claim(n <= MOST_MODULES, f"{room} has {n} modules, more than {MOST_MODULES}")
    for f in files:
        if os.path.dirname(f) not in ROOMS:
            continue
        room, pure = os.path.dirname(f), ROOMS[os.path.dirname(f)][0]
        pure = pure and os.path.splitext(f)[0] not in SHELL
        for inc in includes(f):
            name = inc[1:-1]
            for pattern, where in FOREIGN.items():
                if re.search(pattern, inc):
                    claim(re.fullmatch(where, f), f"{f} includes {inc}, which belongs to {where}")
            if inc[0] == '"' and os.path.exists(name):
                to = os.path.dirname(name)
                claim(to == room or to in ROOMS[room][1], f"{f}: {room} may not use {to} ({name})")
            if pure:
                claim(not BAN_INCLUDE.search(inc), f"{f} is in a pure room, yet includes {inc}")


def check_alone(files):
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I.", "-I" + gen_dir()]
    flags += subprocess.run(["pkg-config", "--cflags", "libevent", "libprotobuf-c", "yaml-0.1", "jansson",
                             "libsodium", "hiredis", "libcurl", "libcrypto"], capture_output=True, text=True).stdout.split()

    def one(h):
        r = subprocess.run(["gcc", *flags, "-fsyntax-only", "-x", "c", h], capture_output=True, text=True)
        return h, r.returncode, r.stderr
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for h, rc, err in pool.map(one, [f for f in files if f.endswith(".h")]):
            claim(rc == 0, f"{h} does not compile alone\n" + "\n".join(err.splitlines()[:5]))


def gen_dir():
    found = sorted(glob.glob("build/*/gen"))
    return found[0] if found else "build/rel/gen"


def check_own_header(files):
    without = collections.Counter()
    for f in files:
        if not f.endswith(".c") or MAIN.search(f):
            continue
        own = f[:-1] + "h"
        if not os.path.exists(own):
            without[os.path.dirname(f)] += 1
            continue
        first = [i[1:-1] for i in includes(f)][:1]
        claim(first == [own], f"{f} does not include its own header first, but {first}")
    for room in ROOMS:
        n, most = without[room], HEADERLESS.get(room, 0)
        claim(n <= most, f"{room}: {n} files without a header of their own, at most {most} are known")
        claim(n >= most, f"{room}: only {n} files without a header of their own: HEADERLESS can say so")


def circles(graph):
    """Strongly connected components of more than one node (Tarjan, without recursion)."""
    index, low, stack, on, out, n = {}, {}, [], set(), [], 0
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = n = n + 1
        stack.append(root)
        on.add(root)
        while work:
            v, todo = work[-1]
            for w in todo:
                if w not in index:
                    index[w] = low[w] = n = n + 1
                    stack.append(w)
                    on.add(w)
                    work.append((w, iter(sorted(graph.get(w, ())))))
                    break
                if w in on:
                    low[v] = min(low[v], index[w])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[v])
                if low[v] == index[v]:
                    comp = set()
                    while v not in comp:
                        comp.add(stack[-1])
                        on.discard(stack.pop())
                    if len(comp) > 1:
                        out.append(sorted(comp))
    return out


def symbols(obj, files):
    """file -> (defined, wanted) functions and data of its object."""
    objects = {f"{obj}/{OBJECT.get(f, f[:-2])}.o": f for f in files if f.endswith(".c")}
    there = [o for o in objects if os.path.exists(o)]
    out = {objects[o]: (set(), set()) for o in there}
    if not there:
        return out
    of = {f"{o}:": objects[o] for o in there}
    have = want = set()
    # One process for all: it costs more to start than to read an object. One file alone has no heading.
    for line in subprocess.run(["nm", "--", *there, there[0]], capture_output=True, text=True).stdout.splitlines():
        if line in of:
            have, want = out[of[line]]
            continue
        kind, name = line[17:18], line[19:].strip()
        if kind and kind in "TDBRVW":
            have.add(name)
        elif kind == "U":
            want.add(name.split("@")[0])
    return out


def check_circles(files, syms):
    headers = {f: {i[1:-1] for i in includes(f) if i[0] == '"'} for f in files if f.endswith(".h")}
    for c in circles({h: {i for i in v if i in headers} for h, v in headers.items()}):
        claim(False, "headers include each other: " + " ".join(c))
    owner = {s: f for f, (have, _) in syms.items() for s in have}
    calls = {f: {owner[s] for s in want if s in owner and owner[s] != f} for f, (_, want) in syms.items()}
    seen = set()
    for c in circles(calls):
        key = frozenset(c)
        known = next((k for k in CIRCLES if key <= frozenset(k.split())), None)
        seen.add(known)
        claim(known is not None, f"files need each other in a circle ({len(c)}): " + " ".join(c))
    for k in CIRCLES:
        claim(k in seen, f"CIRCLES lists what is no circle any more: {k}")
    rooms = collections.defaultdict(set)
    for f in files:
        for i in includes(f):
            to = os.path.dirname(i[1:-1])
            if to in ROOMS and to != os.path.dirname(f):
                rooms[os.path.dirname(f)].add(to)
    for f, to in calls.items():
        for t in to:
            a, b = os.path.dirname(f), os.path.dirname(t)
            if a != b:
                rooms[a].add(b)
                claim(b in ROOMS[a][1], f"{f} calls into {b} ({t}), which {a} may not use")
    for c in circles({r: rooms[r] for r in ROOMS}):
        claim(False, "rooms use each other: " + " ".join(c))


def check_pure_calls(syms):
    for f, (_, want) in syms.items():
        if not ROOMS[os.path.dirname(f)][0] or f[:-2] in SHELL:
            continue
        bad = sorted(s for s in want if BAN_CALL.match(s))
        claim(not bad, f"{f} is in a pure room, yet calls {' '.join(bad)}")


def print_table(files):
    """Per room: files, files without a header, lines, asserts per thousand lines, longest file."""
    print(f"{'room':22} {'':6} {'files':>5} {'lines':>6} {'asserts/1000':>12}  longest file")
    sums = [0, 0, 0]
    for room in ROOMS:
        mine = [f for f in files if os.path.dirname(f) == room]
        texts = {f: read(f) for f in mine}
        lines = {f: t.count("\n") for f, t in texts.items()}
        n = sum(len(re.findall(r"\b(?:assert|SQ_\w*ASSERT)\(", t)) for t in texts.values())
        all_lines = sum(lines.values())
        longest = max(lines, key=lines.get)
        print(f"{room:22} {'pure' if ROOMS[room][0] else '':6} {len(mine):5} {all_lines:6} "
              f"{1000 * n / all_lines:12.1f}  {lines[longest]:4} {os.path.basename(longest)}")
        sums = [sums[0] + len(mine), sums[1] + all_lines, sums[2] + n]
    print(f"{'all':29} {sums[0]:5} {sums[1]:6} {1000 * sums[2] / sums[1]:12.1f}")
    for c, why in CIRCLES.items():
        print(f"circle ({len(c.split())}): {c}: {why}")


def main():
    obj = sys.argv[1] if len(sys.argv) > 1 else "build/rel/obj"
    files = sources()
    check_rooms(files)
    files = [f for f in files if os.path.dirname(f) in ROOMS]
    check_own_header(files)
    check_alone(files)
    syms = symbols(obj, files)
    want = sum(f.endswith(".c") for f in files)
    claim(len(syms) == want, f"{len(syms)} objects of {want} files in {obj}: build first (make bins)")
    check_pure_calls(syms)
    check_circles(files, syms)
    print_table(files)
    finish("layers")


main()
