"""demo_cluster.py: the cluster as demo_calls.py and demo_gpu.py ask it, with what `make run` wrote of it."""
import json
import threading
import urllib.error
import urllib.request


class Refused(OSError):
    """An answer other than 2xx: its status, and the error it told."""

    def __init__(self, e):
        try:
            told = json.loads(e.read())["detail"]
        except (OSError, ValueError, KeyError, TypeError):
            told = e.reason
        super().__init__(f"{e.url}: {e.code}, {told}")
        self.code = e.code


def ask(method, url, token, body=None):
    """The JSON of the answer; raises Refused."""
    data = None if body is None else json.dumps(body).encode()
    q = urllib.request.Request(url, data, {"Authorization": "Bearer " + token, "Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(q, timeout=10) as r:
            return json.loads(r.read() or b"null")
    except urllib.error.HTTPError as e:
        raise Refused(e) from e


class Cluster:
    """Orders of an operator, and the endpoint of a demo."""

    def __init__(self, cluster, name):
        with open(cluster, encoding="utf-8") as f:
            c = json.load(f)
        self.admin, self.token, self.routers = c["admin"], c["admin_token"], c["router"]
        self.name, self.ended, self.changing = name, False, threading.Lock()

    def order(self, method, path, body=None):
        return ask(method, f"{self.admin}/v1/admin/{path}", self.token, body)

    def forget(self):
        try:
            self.order("DELETE", f"endpoints/{self.name}?final=true")
        except Refused as e:
            if e.code != 404:
                raise

    def begin(self, define):
        """Calls define(), unless the demo has ended meanwhile."""
        with self.changing:
            if not self.ended:
                define()

    def end(self, *ways):
        """Calls these, each, when no define() is under way any more; returns what they raised."""
        wrong = []
        with self.changing:
            self.ended = True
            for way in ways:
                try:
                    way()
                except Exception as e:  # the others all the same
                    wrong.append(e)
        return wrong
