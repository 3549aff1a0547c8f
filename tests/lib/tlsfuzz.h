/* tlsfuzz.h: strangers at ports of this process that speak TLS, out of a fuzzer's input. Each is one of
 * two: raw bytes in pieces; or a real client, whose bytes, or those that it gets, are changed, left
 * out, put in or said twice on their way. Whatever they are:
 *   a port that has said a fatal alert closes, though the stranger stays
 *   one that has left is forgotten: its descriptor is free, and so is its memory
 *   meanwhile it holds a bounded part of that
 * For targets of tests/fuzz: without Criterion. */
#ifndef SEGQ_TESTS_TLSFUZZ_H
#define SEGQ_TESTS_TLSFUZZ_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/ev.h"
#include "common/net/net.h"
#include "tests/lib/fuzz_bytes.h"

#define TF_HOLDS    (1u << 20) /* bytes that a stranger may hold */
#define TF_TURNS    1000       /* after them a refusal has closed the connection */
#define TF_WAITS_MS 20000      /* until who has left is forgotten */
#define TF_EDITS    8

enum { TF_CHANGE, TF_DROP, TF_INSERT, TF_TWICE, TF_PAUSE, TF_END, TF_NEDITS };

struct tf_edit {
    uint64_t skip; /* bytes that pass before it */
    unsigned kind; /* TF_* */
    uint32_t n;
    const uint8_t *p; /* of TF_INSERT */
};

struct tf { /* a stranger */
    struct ev *ev; /* ref */
    struct fuzz_bytes in;
    int fd;        /* of the connection to the port */
    int inner;     /* our end of what a real client reads and writes; -1: there is none */
    bool ended;    /* by the port */
    bool refused;  /* it said a fatal alert */
    bool moved;    /* bytes went one way or the other */
    uint8_t head[6]; /* of the record that the port sends: type, version, length, first byte */
    size_t n_head, skip;
    struct tf_edit edit[TF_EDITS];
    unsigned n_edits, at;
    bool edits_back; /* what the client gets */
};

/* A real client. */
struct tf_real {
    void *ctx;
    int (*shake)(void *ctx); /* 1: done; 0: not yet; -1 */
    void (*say)(void *ctx, const uint8_t *p, size_t n); /* by TLS */
};

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static inline void must(bool ok)
{
    if (!ok)
        abort();
}

static inline size_t tf_held(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL)
        return __sanitizer_get_current_allocated_bytes();
    return mallinfo2().uordblks;
}

static inline int tf_lowest_fd(void)
{
    int fd = dup(2);

    must(fd >= 0);
    close(fd);
    return fd;
}

/* ---- files ---- */

/* A certificate that its own authority is, for 127.0.0.1 and names, with its key: DIR/NAME.crt, .key. */
static inline void tf_cert(const char *dir, const char *name, const char *names)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    char path[100];
    FILE *f;

    must(key != NULL && ext != NULL);
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -86400);
    X509_gmtime_adj(X509_getm_notAfter(x), 365 * 86400);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1, 0);
    X509_set_issuer_name(x, subject);
    X509_set_pubkey(x, key);
    X509_add_ext(x, ext, -1);
    must(X509_sign(x, key, EVP_sha256()) > 0);
    snprintf(path, sizeof(path), "%s/%s.key", dir, name);
    f = fopen(path, "w");
    must(f != NULL && fchmod(fileno(f), 0600) == 0 &&
         PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
    fclose(f);
    snprintf(path, sizeof(path), "%s/%s.crt", dir, name);
    f = fopen(path, "w");
    must(f != NULL && PEM_write_X509(f, x));
    fclose(f);
    X509_EXTENSION_free(ext);
    X509_free(x);
    EVP_PKEY_free(key);
}

/* ---- bytes ---- */

/* From an address of its own: a port number is not free at once. */
static inline int tf_dial(const char *addr)
{
    static uint32_t n;
    struct sockaddr_in from = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct net_addr to;

    from.sin_addr.s_addr = htonl(0x7f010000u + n++ % 65536u);
    must(fd >= 0 && net_parse(&to, addr, NULL) == 0 &&
         bind(fd, (struct sockaddr *)&from, sizeof(from)) == 0 &&
         connect(fd, &to.sa, to.len) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

/* Looks for a fatal alert among records that are readable. */
static inline void tf_look(struct tf *t, const uint8_t *p, size_t n)
{
    for (; n > 0; p++, n--) {
        size_t len;

        if (t->skip > 0) {
            t->skip--;
            continue;
        }
        t->head[t->n_head++] = *p;
        if (t->n_head < sizeof(t->head))
            continue;
        len = (size_t)t->head[3] << 8 | t->head[4];
        t->refused = t->refused || (t->head[0] == 0x15 && len == 2 && t->head[5] == 2);
        t->skip = len > 0 ? len - 1 : 0;
        t->n_head = 0;
    }
}

static inline void tf_pass(struct tf *t, bool back, const uint8_t *p, size_t n);

static inline void tf_hear(struct tf *t)
{
    uint8_t b[4096];
    ssize_t n;

    if (t->ended)
        return;
    while ((n = recv(t->fd, b, sizeof(b), 0)) > 0) {
        t->moved = true;
        tf_look(t, b, (size_t)n);
        if (t->inner >= 0)
            tf_pass(t, true, b, (size_t)n);
    }
    t->ended = n == 0 || (errno != EAGAIN && errno != EINTR);
}

static size_t tf_base; /* what is held while nobody is there */

static inline void tf_turn(struct tf *t)
{
    ev_turn(t->ev, false);
    ev_turn(t->ev, false);
    tf_hear(t);
    must(tf_base == 0 || tf_held() < tf_base + 2 * TF_HOLDS);
}

static inline void tf_put(struct tf *t, const uint8_t *p, size_t n)
{
    for (unsigned tries = 0; n > 0 && !t->ended && tries < 1000; tries++) {
        ssize_t k = send(t->fd, p, n, MSG_NOSIGNAL);

        t->moved = t->moved || k > 0;
        p += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
        tf_turn(t);
    }
}

static inline void tf_send(struct tf *t, bool back, const uint8_t *p, size_t n)
{
    if (back)
        (void)!write(t->inner, p, n);
    else
        tf_put(t, p, n);
}

/* The next edit, at p; bytes of it that are done. */
static inline size_t tf_edited(struct tf *t, bool back, const uint8_t *p, size_t n)
{
    const struct tf_edit *e = &t->edit[t->at++];
    size_t most = e->n < n ? e->n : n;
    uint8_t changed = (uint8_t)(*p ^ (1 + e->n % 255));

    switch (e->kind) {
    case TF_CHANGE:
        tf_send(t, back, &changed, 1);
        return 1;
    case TF_DROP:
        return most;
    case TF_INSERT:
        tf_send(t, back, e->p, e->n);
        return 0;
    case TF_TWICE:
        tf_send(t, back, p, most);
        return 0;
    case TF_PAUSE:
        tf_turn(t);
        return 0;
    default:
        (void)shutdown(back ? t->inner : t->fd, SHUT_WR);
        return n;
    }
}

static inline void tf_pass(struct tf *t, bool back, const uint8_t *p, size_t n)
{
    while (n > 0) {
        bool edits = back == t->edits_back && t->at < t->n_edits;
        size_t k = edits && t->edit[t->at].skip < n ? t->edit[t->at].skip : n;

        tf_send(t, back, p, k);
        if (edits)
            t->edit[t->at].skip -= k;
        p += k;
        n -= k;
        if (edits && n > 0) {
            k = tf_edited(t, back, p, n);
            p += k;
            n -= k;
        }
    }
}

/* ---- strangers ---- */

static inline void tf_begin(struct tf *t, struct ev *ev, struct fuzz_bytes in, const char *addr)
{
    *t = (struct tf){ .ev = ev, .in = in, .inner = -1 };
    t->fd = tf_dial(addr);
    tf_turn(t);
}

/* Pieces. Returns the first byte; -1: none was sent. */
static inline int tf_raw(struct tf *t)
{
    int first = -1;

    while (t->in.p < t->in.end) {
        uint32_t n;
        const uint8_t *p = fuzz_take(&t->in, &n);

        if (n > 0 && first < 0)
            first = p[0];
        tf_put(t, p, n);
    }
    return first;
}

static inline void tf_read_edits(struct tf *t)
{
    t->n_edits = (unsigned)(fuzz_num(&t->in) % (TF_EDITS + 1));
    t->edits_back = fuzz_num(&t->in) % 4 == 3;
    for (unsigned i = 0; i < t->n_edits; i++) {
        struct tf_edit *e = &t->edit[i];

        e->skip = fuzz_num(&t->in);
        e->kind = (unsigned)(fuzz_num(&t->in) % TF_NEDITS);
        if (e->kind == TF_INSERT)
            e->p = fuzz_take(&t->in, &e->n);
        else
            e->n = (uint32_t)fuzz_num(&t->in);
    }
}

static inline void tf_carry(struct tf *t)
{
    uint8_t b[4096];
    ssize_t n;

    while ((n = read(t->inner, b, sizeof(b))) > 0)
        tf_pass(t, false, b, (size_t)n);
}

/* The client's end of its connection. */
static inline int tf_pair(struct tf *t)
{
    int v[2];

    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, v) == 0);
    t->inner = v[0];
    return v[1];
}

/* The client says what is left of the input after its handshake. True: that was done. */
static inline bool tf_real(struct tf *t, const struct tf_real *c)
{
    int rc = 0;

    for (unsigned idle = 0; rc == 0 && !t->ended && idle < 4; idle = t->moved ? 0 : idle + 1) {
        t->moved = false;
        rc = c->shake(c->ctx);
        tf_carry(t);
        tf_turn(t);
    }
    if (rc == 1)
        c->say(c->ctx, t->in.p, (size_t)(t->in.end - t->in.p));
    for (unsigned i = 0; i < 4; i++) {
        tf_carry(t);
        tf_turn(t);
    }
    return rc == 1;
}

/* must_end: by the port. free_fd: the lowest one while nobody is there. */
static inline void tf_end(struct tf *t, bool must_end, int free_fd)
{
    msec_t end = ev_now(t->ev) + TF_WAITS_MS;

    /* at once: a deadline would end it, too, some seconds later */
    for (unsigned i = 0; (must_end || t->refused) && !t->ended; i++, tf_turn(t))
        must(i < TF_TURNS);
    if (t->inner >= 0)
        close(t->inner);
    (void)setsockopt(t->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
    close(t->fd);
    for (; free_fd >= 0 && tf_lowest_fd() != free_fd; ev_turn(t->ev, false))
        must(ev_now(t->ev) < end);
    for (unsigned i = 0; i < 4; i++)
        ev_turn(t->ev, false);
    must(tf_base == 0 || tf_held() < tf_base + TF_HOLDS);
}

#endif
