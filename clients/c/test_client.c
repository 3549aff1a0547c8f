/* test_client.c: what segq.h does of itself, with a router that says what a test wants. The last
 * line is "c: N passed, M failed". */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_key.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 12
#define SOME   4096

static int passed, failed, bad; /* bad: of the test that runs */

static void claim(int good, const char *what, const char *got)
{
    if (good)
        return;
    bad = 1;
    printf("FAIL %s: %s\n", what, got);
}

static void same(const char *got, const char *want)
{
    claim(strcmp(got, want) == 0, want, got);
}

/* ---- a router ---- */

struct router {
    const char *const *says; /* "STATUS [WORD [NONCE]]": WORD is a code, or of a cookie; the last one again and again */
    int socket;
    _Atomic int n; /* requests so far */
    char url[64], asked[ROUNDS][SOME];
    pthread_t thread;
};

static const char place[] = "{\"token\":\"T\",\"queue\":\"q\",\"lane\":\"l\",\"state\":\"waiting\",\"position\":2,\"total\":9,"
                            "\"eta_s\":1,\"poll_after_ms\":50,\"segment\":1}";

/* With its body; -1: there is none. */
static int hear(int s, char *out)
{
    size_t n = 0;
    ssize_t some;

    while (n < SOME - 1 && (some = recv(s, out + n, SOME - 1 - n, 0)) > 0) {
        char *end, *length;

        n += (size_t)some;
        out[n] = '\0';
        end = strstr(out, "\r\n\r\n");
        length = strstr(out, "Content-Length: ");
        if (end != NULL && (length == NULL || n >= (size_t)(end + 4 - out) + (size_t)atoi(length + 16)))
            return 0;
    }
    return -1;
}

static void answer(int s, const char *says)
{
    char word[64] = "", nonce[64] = "", body[SOME], all[2 * SOME], more[256] = "";
    int status = 0, n;

    sscanf(says, "%d %63s %63s", &status, word, nonce);
    snprintf(body, sizeof(body), "%s", status == 204 ? "" : place);
    if (status >= 300)
        snprintf(body, sizeof(body), "{\"code\":\"%s\",\"ticket\":\"17-123\"}", word);
    else if (word[0] != '\0')
        snprintf(more, sizeof(more), "Set-Cookie: segq_device_q=%s; Path=/\r\n", word);
    if (nonce[0] != '\0')
        sprintf(more + strlen(more), "dpop-nonce:  %s\r\n", nonce);
    n = snprintf(all, sizeof(all), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n%s", status,
                 strlen(body), more, body);
    send(s, all, (size_t)n, MSG_NOSIGNAL);
}

static void *serve(void *arg)
{
    struct router *r = arg;
    int s, at = 0;

    while ((s = accept(r->socket, NULL, NULL)) >= 0) {
        if (r->n < ROUNDS && hear(s, r->asked[r->n]) == 0) {
            r->n++;
            answer(s, r->says[at]);
            at += r->says[at + 1] != NULL;
        }
        close(s);
    }
    return NULL;
}

static void begin(struct router *r, const char *const *says)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t n = sizeof(a);

    memset(r, 0, sizeof(*r));
    r->says = says;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    r->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (r->socket < 0 || bind(r->socket, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(r->socket, 16) < 0 ||
        getsockname(r->socket, (struct sockaddr *)&a, &n) < 0 || pthread_create(&r->thread, NULL, serve, r) != 0) {
        puts("FAIL: no port of this machine can be listened at");
        exit(1);
    }
    snprintf(r->url, sizeof(r->url), "http://127.0.0.1:%d", ntohs(a.sin_port));
}

static void over(struct router *r)
{
    shutdown(r->socket, SHUT_RDWR);
    pthread_join(r->thread, NULL);
    close(r->socket);
}

/* "POST! GET": what was asked, ! with a proof. */
static const char *methods(const struct router *r)
{
    static char out[256];

    out[0] = '\0';
    for (int i = 0; i < (int)r->n; i++)
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%.*s%s", i > 0 ? " " : "",
                 (int)strcspn(r->asked[i], " "), r->asked[i], strstr(r->asked[i], "DPoP: ") != NULL ? "!" : "");
    return out;
}

static struct segq *line(const struct router *r, const struct segq_key *key, const char *token)
{
    const char *routers[] = { r->url };
    struct segq_options o = { .routers = routers, .n_routers = 1, .queue = "q", .key = key, .token = token,
                              .polls_only = 1 };

    return segq_new(&o);
}

/* Until the router has been asked so often, and this is answered. */
static enum segq_state ask(struct segq *s, const struct router *r, int n)
{
    enum segq_state state = segq_poll(s, 0);

    for (int i = 0; i < 500 && state < SEGQ_ADMITTED && (r->n < n || segq_ticket(s)->total == 0); i++)
        state = segq_poll(s, 10);
    return state < SEGQ_ADMITTED ? segq_poll(s, 20) : state;
}

/* ---- proofs ---- */

/* The bytes of URL-safe base64, and a NUL. */
static size_t bytes_of(const char *text, size_t n, unsigned char *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned bits = 0;
    size_t w = 0;

    for (size_t i = 0; i < n; i++) {
        bits = bits << 6 | (unsigned)(strchr(letters, text[i]) - letters);
        if (i % 4 != 0)
            out[w++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    out[w] = '\0';
    return w;
}

/* By OpenSSL, from r and s. */
static int verifies(const struct segq_key *key, const char *text, size_t n, const unsigned char *rs)
{
    ECDSA_SIG *s = ECDSA_SIG_new();
    EVP_MD_CTX *m = EVP_MD_CTX_new();
    unsigned char *der = NULL;
    int size, good;

    ECDSA_SIG_set0(s, BN_bin2bn(rs, 32, NULL), BN_bin2bn(rs + 32, 32, NULL));
    size = i2d_ECDSA_SIG(s, &der);
    EVP_DigestVerifyInit(m, NULL, EVP_sha256(), NULL, key->ctx);
    good = EVP_DigestVerify(m, der, (size_t)size, (const unsigned char *)text, n) == 1;
    OPENSSL_free(der);
    EVP_MD_CTX_free(m);
    ECDSA_SIG_free(s);
    return good;
}

/* That of request i is for this path, with this nonce, and the key's. */
static void proves(const struct router *r, int i, const struct segq_key *key, const char *path, const char *nonce)
{
    const char *at = strstr(r->asked[i], "DPoP: "), *dot, *last;
    unsigned char json[SOME];
    char want[512];

    claim(at != NULL, "a proof", r->asked[i]);
    if (at == NULL)
        return;
    at += 6;
    dot = strchr(at, '.');
    last = strchr(dot + 1, '.');
    bytes_of(at, (size_t)(dot - at), json);
    claim(strstr((char *)json, "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"") == (char *)json,
          "a head", (char *)json);
    bytes_of(dot + 1, (size_t)(last - dot - 1), json);
    snprintf(want, sizeof(want), "{\"htm\":\"POST\",\"htu\":\"%s%s\",\"iat\":", r->url, path);
    claim(strncmp((char *)json, want, strlen(want)) == 0, want, (char *)json);
    snprintf(want, sizeof(want), "\"nonce\":\"%s\"}", nonce);
    claim(strstr((char *)json, want) != NULL, want, (char *)json);
    claim(bytes_of(last + 1, strcspn(last + 1, "\r"), json) == 64 && verifies(key, at, (size_t)(last - at), json),
          "a signature of the key's", at);
}

struct play { /* a line with a key, and its router */
    struct router r;
    struct segq_key key;
    struct segq *s;
};

static void begin_play(struct play *p, const char *const *says, const char *token)
{
    begin(&p->r, says);
    segq_key_open(&p->key, NULL);
    p->s = line(&p->r, &p->key, token);
}

static void end_play(struct play *p)
{
    segq_free(p->s);
    segq_key_close(&p->key);
    over(&p->r);
}

static void a_key_is_proved_at_the_join_and_when_its_cookie_is_old(void)
{
    static const char *const says[] = { "401 proof_required n1", "201 ab.c-_1", "401 proof_required n2", "204 ab.c-_2", "200", NULL };
    struct play p;

    begin_play(&p, says, NULL);
    claim(ask(p.s, &p.r, 2) == SEGQ_WAITING, "it waits", segq_ticket(p.s)->why);
    same(segq_ticket(p.s)->device, "segq_device_q=ab.c-_1");
    ask(p.s, &p.r, 5);
    same(segq_ticket(p.s)->device, "segq_device_q=ab.c-_2");
    claim(strncmp(methods(&p.r), "POST! POST! GET POST! GET", 25) == 0, "the order", methods(&p.r));
    proves(&p.r, 0, &p.key, "/v1/queues/q/tickets", "");
    proves(&p.r, 1, &p.key, "/v1/queues/q/tickets", "n1");
    proves(&p.r, 3, &p.key, "/v1/tickets/T/device", "n2");
    claim(strstr(p.r.asked[1], "Idempotency-Key: ") != NULL && strstr(p.r.asked[1], "{\"client\":\"game\"}") != NULL, "a join",
          p.r.asked[1]);
    claim(strstr(p.r.asked[4], "Cookie: segq_device_q=ab.c-_2\r\n") != NULL, "the fresh cookie", p.r.asked[4]);
    end_play(&p);
}

static void a_key_that_is_refused_ends_the_join(void)
{
    static const char *const says[] = { "401 proof_required n1", NULL };
    struct play p;

    begin_play(&p, says, NULL);
    claim(ask(p.s, &p.r, ROUNDS) == SEGQ_REFUSED, "it ends", methods(&p.r));
    same(segq_ticket(p.s)->why, "proof_required");
    claim(p.r.n == 4, "four joins", methods(&p.r));
    end_play(&p);
}

static void another_key_has_no_part_in_the_place(void)
{
    static const char *const says[] = { "403 other_device", "401 proof_required n1", "403 other_device", NULL };
    struct play p;

    begin_play(&p, says, "T");
    claim(ask(p.s, &p.r, ROUNDS) == SEGQ_REFUSED, "it ends", methods(&p.r));
    same(segq_ticket(p.s)->why, "other_device");
    same(segq_ticket(p.s)->name, "17-123");
    same(methods(&p.r), "GET POST! POST!");
    end_play(&p);
}

static void a_leave_proves_a_key_whose_cookie_is_old(void)
{
    static const char *const says[] = { "403 other_device", "204", NULL };
    struct play p;

    begin_play(&p, says, "T");
    segq_leave(p.s);
    claim(ask(p.s, &p.r, ROUNDS) == SEGQ_LEFT, "it ends", methods(&p.r));
    same(methods(&p.r), "DELETE POST! DELETE");
    end_play(&p);
}

static int cannot(void *ctx, const void *data, size_t n, unsigned char rs[64])
{
    (void)ctx, (void)data, (void)n, (void)rs;
    return -1;
}

static void a_key_that_does_not_sign_ends_it(void)
{
    static const char *const says[] = { "200", NULL };
    struct segq_key key = { .sign = cannot };
    struct router r;
    struct segq *s;

    begin(&r, says);
    s = line(&r, &key, NULL);
    claim(ask(s, &r, 1) == SEGQ_REFUSED && r.n == 0, "it ends", methods(&r));
    same(segq_ticket(s)->why, "key_failed");
    segq_free(s);
    over(&r);
}

static void without_a_key_nothing_is_proved(void)
{
    static const char *const says[] = { "201 abc", "401 proof_required n1", NULL };
    struct router r;
    struct segq *s;

    begin(&r, says);
    s = line(&r, NULL, NULL);
    ask(s, &r, 1);
    claim(ask(s, &r, ROUNDS) == SEGQ_REFUSED, "it ends", methods(&r));
    same(methods(&r), "POST GET");
    segq_free(s);
    over(&r);
}

/* ---- files ---- */

static void write_key(const char *file, int nid)
{
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    EVP_PKEY *k = NULL;
    FILE *f = fopen(file, "w");

    EVP_PKEY_keygen_init(c);
    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(c, nid);
    EVP_PKEY_keygen(c, &k);
    PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    EVP_PKEY_free(k);
    EVP_PKEY_CTX_free(c);
}

static void a_file_keeps_its_key(void)
{
    char folder[] = "/tmp/segq-key.XXXXXX", file[64], other[64];
    struct segq_key a, b;
    struct stat st;

    claim(mkdtemp(folder) != NULL, "a folder", folder);
    snprintf(file, sizeof(file), "%s/device.pem", folder);
    snprintf(other, sizeof(other), "%s/other.pem", folder);
    claim(segq_key_open(&a, file) == 0 && segq_key_open(&b, file) == 0, "twice", file);
    claim(memcmp(a.x, b.x, 32) == 0 && memcmp(a.y, b.y, 32) == 0, "the same", file);
    claim(stat(file, &st) == 0 && (st.st_mode & 077) == 0, "its owner's alone", file);
    segq_key_close(&a);
    segq_key_close(&b);
    claim(b.sign == NULL, "closed", file);
    write_key(other, NID_X9_62_prime256v1);
    claim(segq_key_open(&a, other) == 0, "one of openssl's", other);
    segq_key_close(&a);
    write_key(other, NID_secp384r1);
    claim(segq_key_open(&a, other) < 0, "another curve", other);
    fclose(fopen(other, "w"));
    claim(segq_key_open(&a, other) < 0, "no key in it", other);
    claim(segq_key_open(&a, "/nowhere/device.pem") < 0, "no such folder", other);
    unlink(file);
    unlink(other);
    claim(rmdir(folder) == 0, "nothing else is left", folder);
}

static void processes_that_make_a_file_at_once_have_one_key(void)
{
    char folder[] = "/tmp/segq-key.XXXXXX", file[64], c;
    unsigned char first[32], x[32];
    int go[2], told[2], n = 0;
    struct segq_key key;

    claim(mkdtemp(folder) != NULL && pipe(go) == 0 && pipe(told) == 0, "a folder, and pipes", folder);
    snprintf(file, sizeof(file), "%s/device.pem", folder);
    for (int i = 0; i < 8; i++) {
        if (fork() != 0)
            continue;
        close(go[1]);
        if (read(go[0], &c, 1) == 0 && segq_key_open(&key, file) == 0 && write(told[1], key.x, sizeof(key.x)) < 0)
            _exit(1);
        _exit(0);
    }
    close(go[0]);
    close(go[1]); /* all begin */
    close(told[1]);
    for (; read(told[0], x, sizeof(x)) == (ssize_t)sizeof(x); n++) {
        if (n == 0)
            memcpy(first, x, sizeof(x));
        claim(memcmp(x, first, sizeof(x)) == 0, "the same", file);
    }
    close(told[0]);
    while (wait(NULL) > 0)
        ;
    claim(n == 8, "each has one", file);
    unlink(file);
    claim(rmdir(folder) == 0, "nothing else is left", folder);
}

int main(void)
{
    static void (*const tests[])(void) = {
        a_key_is_proved_at_the_join_and_when_its_cookie_is_old, a_key_that_is_refused_ends_the_join,
        another_key_has_no_part_in_the_place, a_leave_proves_a_key_whose_cookie_is_old,
        a_key_that_does_not_sign_ends_it, without_a_key_nothing_is_proved, a_file_keeps_its_key,
        processes_that_make_a_file_at_once_have_one_key,
    };

    curl_global_init(CURL_GLOBAL_DEFAULT);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        bad = 0;
        tests[i]();
        passed += !bad;
        failed += bad;
    }
    printf("c: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
