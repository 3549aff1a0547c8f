"""at_once.py N: requests from standard input, a line each: "METHOD URL [JSON]". N connections
at a time, each takes the next line as soon as it has its answer. Prints an answer per line:
"status METHOD URL body"; status 0: none."""
import http.client
import queue
import sys
import threading
import urllib.parse


def ask(conns, method, url, body):
    """One request on this thread's connection to that server; 0 if there is no answer."""
    u = urllib.parse.urlsplit(url)
    conn = conns.setdefault(u.netloc, http.client.HTTPConnection(u.netloc, timeout=60))
    try:
        conn.request(method, u.path, body, {"Content-Type": "application/json"} if body else {})
        answer = conn.getresponse()
        return answer.status, answer.read().decode("utf-8")
    except OSError as e:
        conn.close()
        return 0, str(e)


def work(lines, lock):
    """Until there are no lines left."""
    conns = {}
    while True:
        try:
            method, url, *body = lines.get_nowait().rstrip("\n").split(" ", 2)
        except queue.Empty:
            return
        status, text = ask(conns, method, url, body[0] if body else None)
        with lock:
            print(status, method, url, text.replace("\n", " "), flush=True)


def main():
    lines, lock = queue.Queue(), threading.Lock()
    for line in sys.stdin:
        lines.put(line)
    threads = [threading.Thread(target=work, args=(lines, lock)) for _ in range(int(sys.argv[1]))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


main()
