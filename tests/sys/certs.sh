# certs.sh: authorities and certificates of a story, by openssl, in $CERTS. Sourced after lib.sh.

command -v openssl >/dev/null || give_up "openssl is not installed"
CERTS=$DIR/certs
mkdir -p "$CERTS"
authority() { # NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
        -keyout "$CERTS/$1.key" -out "$CERTS/$1.crt" 2>/dev/null
}
issue() { # NAME CA DAYS NAMES
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$CERTS/$1.key" \
        -out "$CERTS/$1.csr" 2>/dev/null
    openssl x509 -req -in "$CERTS/$1.csr" -CA "$CERTS/$2.crt" -CAkey "$CERTS/$2.key" -CAcreateserial -days "$3" \
        -extfile <(echo "subjectAltName=$4") -out "$CERTS/$1.crt" 2>/dev/null
    chmod 600 "$CERTS/$1.key"
}
