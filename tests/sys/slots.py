"""slots.py URL QUEUE: people who join, poll, and leave at once, told by lines on standard input.

    join N          N join                                        -> how many did
    fill N SECONDS  all who wait poll, again and again, until N are inside (or the time is over),
                    and then once more                            -> how many are inside
    leave N         N of those inside give their pass back, all at once -> how many could

Inside is who was shown a pass and has not begun to give it back: so it is never more than
what the cluster counts. A request without an answer (a process is dead) is asked again."""
import http.client
import queue
import sys
import threading
import time
import urllib.parse

THREADS = 32


class Crowd:
    """Tokens by what is known of them."""

    def __init__(self, url, name):
        self.host = urllib.parse.urlsplit(url).netloc
        self.name = name
        self.waiting = []
        self.inside = []

    def ask(self, conn, method, path):
        """Status and body; 0 if there is no answer."""
        try:
            conn.request(method, path)
            answer = conn.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            conn.close()
            return 0, b""

    def all_at_once(self, todo, done):
        """done(status, body, item) for each (method, path, item); every thread has a connection
        and begins when all of them are there. Items for which done is false come again."""
        lines, barrier = queue.Queue(), threading.Barrier(THREADS)
        for line in todo:
            lines.put(line)

        def work():
            conn = http.client.HTTPConnection(self.host, timeout=30)
            barrier.wait()
            while True:
                try:
                    line = lines.get_nowait()
                except queue.Empty:
                    return
                if not done(*self.ask(conn, line[0], line[1]), line[2]):
                    time.sleep(0.05)
                    lines.put(line)

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def join(self, n):
        """n people more; those of an unanswered join would be nobody's: asked once."""
        path = f"/v1/queues/{self.name}/tickets"

        def done(status, body, _):
            if status == 201:
                self.waiting.append(token_of(body))
            return True
        before = len(self.waiting)
        self.all_at_once([("POST", path, None)] * n, done)
        return len(self.waiting) - before

    def poll_all(self):
        """Everybody who waits, once."""
        admitted = set()

        def done(status, body, token):
            if status == 200 and b'"state":"admitted"' in body:
                admitted.add(token)
            return status in (200, 503)
        self.all_at_once([("GET", "/v1/tickets/" + t, t) for t in self.waiting], done)
        self.waiting = [t for t in self.waiting if t not in admitted]
        self.inside += sorted(admitted)

    def fill(self, n, seconds):
        """Until so many are inside, and a look at whether it stays so."""
        end = time.monotonic() + seconds
        while len(self.inside) < n and time.monotonic() < end:
            self.poll_all()
        self.poll_all()
        return len(self.inside)

    def leave(self, n):
        """The first n of those inside."""
        going, self.inside = self.inside[:n], self.inside[n:]
        left = []

        def done(status, _, token):
            if status == 204:
                left.append(token)
            return status == 204
        self.all_at_once([("DELETE", "/v1/tickets/" + t, t) for t in going], done)
        return len(left)


def token_of(body):
    """Out of a ticket, without reading all of it."""
    return body.split(b'"token":"', 1)[1].split(b'"', 1)[0].decode("ascii")


def main():
    crowd = Crowd(sys.argv[1], sys.argv[2])
    for line in sys.stdin:
        word, *numbers = line.split()
        print(getattr(crowd, word)(*map(int, numbers)), flush=True)


main()
