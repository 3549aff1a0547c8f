#!/bin/bash
# Every client does what clients/conformance/table.txt says, against a real cluster whose routers and
# task node die; and what its README shows first does what it says.
# CLIENTS="go js": which; ROWS="resume leave": some rows.
. "$(dirname "$0")/conformance.sh"

cluster_for_clients
play run.py --clients "${CLIENTS:-}" --rows "${ROWS:-}"

# The first and the second example, as they stand there but for the port.
example() { # FILE N
    awk -v n="$2" '/^```python$/ { on = ++k == n; next } /^```$/ { on = 0 } on' "$1" |
        sed "s#http://localhost:8080#$R#"
}
python=$root/clients/python
ln -s "$C" "$DIR/run"
example "$python/README.md" 1 >"$DIR/person.py"
example "$python/README.md" 2 >"$DIR/worker.py"
check "docs/clients.md shows the same worker" cmp "$DIR/worker.py" <(example "$root/docs/clients.md" 1)
cd "$DIR" || exit 1
export PYTHONPATH=$python PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
python3 person.py >person.out
check_eq "a person of the README's is let in" $? 0
check "with a pass" grep -qE '^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$' person.out
python3 worker.py >worker.out 2>&1 &
helpers+=($!)
wait_for 10 "a worker of the README's does its task" grep -q "{'prompt': 'a cat'} 1" worker.out
kill -TERM ${helpers[-1]}
check "and ends well" wait ${helpers[-1]}
