#!/bin/bash
# The systemd units refuse no system call that the programs make (T26): a whole cluster runs
# under strace through its life (start, crowd, kill -9 and recovery, reload, end), and what it
# called is compared with the filter of each unit.
. "$(dirname "$0")/lib.sh"

units=$root/deploy/systemd
filter() { python3 "$here/units.py" "$units/segq-$1.service" "${@:2}"; }
for u in mng rt seg; do
    check_eq "segq-$u lets pass what a pipe needs" "$(filter $u pipe2)" allowed
    check_eq "and does not let mount" "$(filter $u mount)" refused
done
# A sanitizer makes calls of its own, and its leak checker cannot run under strace.
under_asan && exit 0

real=$BIN
BIN=$DIR/bin
mkdir "$BIN"
ln -s "$real"/* "$BIN"
for p in mng rt seg; do
    rm "$BIN/${p}_cluster"
    cat >"$BIN/${p}_cluster" <<EOT
#!/bin/sh
exec strace -D -f -c -o "$DIR/$p.calls" "$real/${p}_cluster" "\$@"
EOT
    chmod +x "$BIN/${p}_cluster"
done
up --capacity 50 --release-per-s 50
all_join 300
http -X DELETE "$R/v1/tickets/$(tail -1 "$DIR/tokens")"
some_in() { poll_many "$DIR/tokens" "$DIR/polls" && grep -q '"admitted"' "$DIR/polls"; }
wait_for 20 "some are let in" some_in
old=$(pid_of segment.0)
kill -KILL "$old"
wait_for 20 "a killed segment node is started again" restarted segment.0 "$old"
all_in() { some_in && [ "$(grep -o '"admitted"' "$DIR/polls" | wc -l)" -ge 290 ]; }
wait_for 40 "all are let in" all_in
for p in mng_cluster rt_cluster seg_cluster; do kill -HUP "$(pid_of $p)"; done
read_again() { grep -q 'event=reloaded' "$C/logs/router.0.log"; }
wait_for 20 "files are read again" read_again
"$root/deploy/local.sh" down --dir "$C" --bin "$BIN" >"$DIR/down.log" 2>&1
for p in mng rt seg; do
    counted() { grep -q ' total$' "$DIR/$p.calls"; }
    wait_for 20 "the calls of ${p}_cluster and its children are counted" counted
    check_eq "segq-$p.service refuses none of them" "$(filter "$p" "$DIR/$p.calls" | tr '\n' ' ')" ""
done
check "what is refused is seen" test -n "$(sed 's/ futex$/ mount/;s/ close$/ ptrace/' \
    "$DIR/rt.calls" >"$DIR/bad.calls"; filter rt "$DIR/bad.calls")"
