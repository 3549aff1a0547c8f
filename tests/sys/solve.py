"""solve.py: the answer to the challenge of a 428 (standard input), as `segq-challenge` has it."""
import base64
import hashlib
import json
import sys

c = json.load(sys.stdin)["challenge"]
p = c["parameters"]
nonce, salt, prefix = (bytes.fromhex(p[k]) for k in ("nonce", "salt", "keyPrefix"))
for counter in range(1 << 20):
    key = hashlib.pbkdf2_hmac("sha256", nonce + counter.to_bytes(4, "big"), salt, p["cost"])
    if key.startswith(prefix):
        break
said = {"challenge": c, "solution": {"counter": counter, "derivedKey": key.hex(), "time": 1.5}}
print(base64.b64encode(json.dumps(said).encode()).decode())
