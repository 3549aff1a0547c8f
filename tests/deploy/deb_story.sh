#!/bin/bash
# deb_story.sh: what test_deb.sh does on the bootstrapped system, as root in namespaces of its own. VERSION:
# that of /debs/new.deb. Prints "ok CLAIM" or "FAIL CLAIM: why" for each; the last line is the sum.
set -u
passed=0
failed=0
check() { # "claim" command...
    local out claim=$1
    shift
    if out=$("$@" 2>&1); then passed=$((passed + 1)); echo "ok $claim"
    else failed=$((failed + 1)); echo "FAIL $claim: $out"; fi
}
wait_for() { # "claim" command...: half a minute, on a busy machine
    local i claim=$1
    shift
    for ((i = 0; i < 300; i++)); do "$@" >/dev/null 2>&1 && break; sleep 0.1; done
    check "$claim" "$@"
}

# ---- a unit, without systemd
units=/lib/systemd/system
key() { sed -n "s/^$2=//p" $units/segq-"$1".service; }
declare -A pid
start() { # mng|rt|seg|task
    local user state creds line secret
    user=$(key "$1" User)
    state=/var/lib/$(key "$1" StateDirectory)
    creds=/run/credentials/segq-$1.service
    install -d -o "$user" -g "$user" -m "$(key "$1" StateDirectoryMode)" "$state"
    install -d -o "$user" -g "$user" -m 0500 "$creds"
    for line in $(key "$1" LoadCredential); do
        secret=$creds/${line%%:*}
        install -o "$user" -g "$user" -m 0400 "${line#*:}" "$secret"
    done
    # shellcheck disable=SC2046
    (cd / && umask "$(key "$1" UMask)" && { ulimit -n "$(key "$1" LimitNOFILE)" 2>/dev/null || ulimit -n "$(ulimit -Hn)"; } && # a sandbox may allow less
        exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --bounding-set=-all \
            $(key "$1" ExecStart)) >>"/run/$1.log" 2>&1 &
    pid[$1]=$!
}
stop() { # the same, TERM and its grace
    kill -TERM "${pid[$1]}"
    wait "${pid[$1]}"
}
ctl() { segqctl --admin http://127.0.0.1:7071 --token-file /etc/segq/secrets/admin.token "$@"; }
# Not: what changes by itself, or is apt's and dpkg's own.
here() { find / -xdev \( -path /proc -o -path /run -o -path /tmp -o -path /debs -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune \
    -o ! -name '*-' ! -name .pwd.lock -print | sort; }
users() { cat /etc/passwd /etc/group; }

here >/tmp/before
users >/tmp/users
mapfile -t typed </debs/typed # README.md: make, apt-get, systemctl, segqctl
check "README has four lines to install it" test "${#typed[@]} ${typed[0]}" = "4 make deb"
check "${typed[1]}" eval "${typed[1]}"
check "  its user is there" getent passwd segq
check "  secrets are for root alone" test "$(stat -c '%U %a' /etc/segq/secrets /etc/segq/secrets/* | sort -u | paste -sd,)" = "root 600,root 700"
check "  and nothing was started" test ! -e /var/lib/segq-rt
check "  a manual page is there" test -s /usr/share/man/man8/segq-router.8.gz
secrets=$(cat /etc/segq/secrets/* | sha256sum)
systemctl() { # what it would do
    local unit
    check "systemctl enable --now" test "$1 $2" = "enable --now"
    for unit in "${@:3}"; do start "${unit#segq-}"; done
}
eval "${typed[2]}"
wait_for "${typed[3]}" eval "${typed[3]}"
is_up() { ctl status | grep -q "^$1\.0 "; }
for n in segment task router; do wait_for "$n is there, as its unit starts it" is_up $n; done
join() { # once
    [ -s /tmp/token ] || curl -sS -m 5 -X POST http://127.0.0.1:8080/v1/queues/login/tickets |
        sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' >/tmp/token
    test -s /tmp/token
}
check "the line stands still" ctl pause login
paused() { curl -sS -m 5 http://127.0.0.1:8080/v1/queues/login | grep '"state":"paused"'; }
wait_for "  routers know it" paused
wait_for "somebody gets a place" join
waits() { local said; said=$(curl -sS -m 5 "http://127.0.0.1:8080/v1/tickets/$(cat /tmp/token)"); echo "$said"; [[ $said == *'"state":"waiting","position":1,'* ]]; }
wait_for "  the first one" waits
submit() { curl -sS -m 5 -o /dev/null -w '%{http_code}' -X POST http://127.0.0.1:8080/v1/queues/images/tasks -d '{"payload":"a cat"}' \
    -H "Authorization: Bearer $(cat /etc/segq/secrets/task.token)"; }
submitted() { [ "$(submit)" = 202 ] || [ "$(submit)" = 201 ]; }
wait_for "a task is taken in" submitted
owners() { # of our processes
    local p
    for p in /proc/[0-9]*; do case $(readlink "$p/exe") in /usr/lib/segq/*) stat -c %U "$p" ;; esac; done | sort | uniq -c | sed 's/^ *//'
}
check "processes are of segq alone: $(owners)" test "$(owners | sed 's/.* //')" = segq
check "what it keeps is read by nobody else" test "$(stat -c '%U %a' /var/lib/segq-seg)" = "segq 700"

echo 'join_burst: 7' >>/etc/segq/router.yaml
check "an upgrade asks nothing" dpkg -i /debs/new.deb
check "  it is the new version" test "$(dpkg-query -W -f '${Version}' segq)" = "$VERSION"
check "  secrets stay" test "$(cat /etc/segq/secrets/* | sha256sum)" = "$secrets"
check "  what the operator wrote stays" grep -qx 'join_burst: 7' /etc/segq/router.yaml
check "  people wait meanwhile" waits
for u in rt task seg mng; do stop $u; done
for u in mng seg task rt; do start $u; done
wait_for "a place is there after the restart into it" waits
check "the programs say their version" grep -qF " ${VERSION%-*}" <(/usr/lib/segq/router --version)
for u in rt task seg mng; do
    stop $u
    check "$u ends well" test $? -eq 0
done

check "documents and the client go beside it" dpkg --force-depends -i /debs/segq-doc_*.deb /debs/segq-client-dev_*.deb
check "  the site is there" test -s /usr/share/doc/segq/html/index.html
check "  the bill of materials, too" grep -q SPDX-2.3 <(zcat -f /usr/share/doc/segq/segq.spdx.json*)
check "they are purged" dpkg --purge segq-doc segq-client-dev

check "it is removed" dpkg -r segq
check "  no program is left" test ! -e /usr/lib/segq -a ! -e /usr/bin/segqctl
check "  data, secrets, configuration are" test -d /var/lib/segq-seg/journal -a -s /etc/segq/secrets/pass.key -a -s /etc/segq/router.yaml
check "it is purged" dpkg --purge segq
here >/tmp/after
check "  nothing is left" diff /tmp/before /tmp/after
users >/tmp/users.after
check "  no user" diff /tmp/users /tmp/users.after
[ $failed -eq 0 ] || tail -n 5 /run/*.log
echo "$passed passed, $failed failed"
