# fronts.sh: real nginx and HAProxy with the samples of deploy/ as they stand, but for ports,
# paths and names. For stories that put one in front of the routers; after lib.sh, with HOST set.

for p in nginx haproxy openssl; do
    command -v $p >/dev/null || give_up "$p is not installed (deploy/deps.sh test)"
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$HOST" \
    -addext "subjectAltName=DNS:$HOST" -keyout "$DIR/key.pem" -out "$DIR/cert.pem" \
    2>"$DIR/openssl.log" || give_up "no certificate: $(tail -1 "$DIR/openssl.log")"
cat "$DIR/cert.pem" "$DIR/key.pem" >"$DIR/both.pem"

nginx_file() { # FILE of deploy/nginx, FOLDER, ports: PLAIN TLS; sed's own expressions go first
    sed "${@:5}" -e "s|listen 80;|listen 127.0.0.1:$3;|; s|listen 443 |listen 127.0.0.1:$4 |" \
        -e "s|127.0.0.1:8080|127.0.0.1:$((PORT + 10))|; s|127.0.0.1:8081|127.0.0.1:$((PORT + 11))|" \
        -e "s|/etc/ssl/segq/fullchain.pem|$DIR/cert.pem|; s|/etc/ssl/segq/privkey.pem|$DIR/key.pem|" \
        -e "s|/etc/nginx/|$2/|; s|/var/log/nginx/|$2/|" "$root/deploy/nginx/$1" >"$2/$1"
}

nginx_go() { # FOLDER, FILE in it, modules; the http level around it is nginx's own sample, as short as it gets
    local d=$1
    cp "$root"/deploy/nginx/segq_busy.html "$d"
    cat >"$d/nginx.conf" <<EOT
$(printf 'load_module %s;\n' "${@:3}" | grep /)
pid $d/nginx.pid;
daemon off;
$([ "$(id -u)" -ne 0 ] || echo "user root;") # its folder need not be open to others
worker_processes 1;
events { worker_connections 1000; }
http {
    access_log off;
    client_body_temp_path $d/body;
    proxy_temp_path $d/proxy;
    fastcgi_temp_path $d/fastcgi;
    uwsgi_temp_path $d/uwsgi;
    scgi_temp_path $d/scgi;
    include $d/$2;
}
EOT
    chmod 755 "$DIR" "$d"
    nginx -e "$d/error.log" -p "$d" -c "$d/nginx.conf" -t 2>"$d/t" ||
        give_up "nginx -t: $(grep -v warn "$d/t" | head -3)"
    ok "${d##*/}: nginx accepts the sample"
    helper nginx -e "$d/error.log" -p "$d" -c "$d/nginx.conf"
}

haproxy_file() { # FILE of deploy/haproxy, FOLDER, ports: PLAIN TLS; sed's own expressions go first
    sed "${@:5}" -e "s|bind :80$|bind 127.0.0.1:$3|; s|bind :443 |bind 127.0.0.1:$4 |" \
        -e "s|127.0.0.1:8080|127.0.0.1:$((PORT + 10))|; s|127.0.0.1:8081|127.0.0.1:$((PORT + 11))|" \
        -e "s|/etc/haproxy/segq.pem|$DIR/both.pem|; s|/etc/haproxy/\(segq_[a-z]*\.[a-z]*\)|$root/deploy/haproxy/\1|g" \
        -e "s|maxconn 100000|maxconn 1000|" "$root/deploy/haproxy/$1" >"$2/$1"
}

haproxy_go() { # FOLDER, FILE in it; its pid in $H
    haproxy -c -f "$1/$2" >"$1/t" 2>&1 || give_up "haproxy -c: $(grep ALERT "$1/t")"
    check_eq "${1##*/}: haproxy accepts the sample, without a warning" "$(grep -E 'ALERT|WARN' "$1/t")" ""
    haproxy -db -f "$1/$2" >"$1/log" 2>&1 &
    H=$!
    helpers+=("$H")
}
