/* routerrig.h: a whole router between a client socket and the peers of routerrig_peers.h, all in
 * one loop. */
#ifndef SEGQ_TESTS_ROUTERRIG_H
#define SEGQ_TESTS_ROUTERRIG_H

#include <arpa/inet.h>
#include "tests/lib/criterion.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "router/service/dispatch.h"
#include "router/service/metrics.h"
#include "router/service/service.h"
#include "router/state/router.h"
#include "tests/lib/routerrig_peers.h"
#include "tests/lib/turn.h"

/* ---- the client ---- */

static char got[1 << 20];
static size_t n_got;

static void more(void)
{
    ssize_t n = recv(w.fd, got + n_got, sizeof(got) - 1 - n_got, 0);

    if (n > 0)
        n_got += (size_t)n;
    got[n_got] = '\0';
}

/* Length of the first answer if it is there. */
static size_t whole(const char *p)
{
    const char *end = strstr(p, "\r\n\r\n"), *cl = strstr(p, "Content-Length: ");
    size_t body = cl != NULL && end != NULL && cl < end ? (size_t)atoi(cl + 16) : 0;

    if (end == NULL || strlen(p) < (size_t)(end - p) + 4 + body)
        return 0;
    return (size_t)(end - p) + 4 + body;
}

/* fields: more header lines, each with CRLF. */
static void say_with(const char *method, const char *path, const char *fields,
                     const char *text)
{
    char t[8000];
    int n = snprintf(t, sizeof(t),
                     "%s %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n%s\r\n%s", method,
                     path, strlen(text), fields, text);

    cr_assert_eq(send(w.fd, t, (size_t)n, MSG_NOSIGNAL), n);
}

static inline void say(const char *method, const char *path, const char *text)
{
    say_with(method, path, "", text);
}

static json_t *js;

/* Asks, waits for the answer, returns its status; js is its body (NULL: none). */
static int call_with(const char *method, const char *path, const char *fields,
                     const char *text)
{
    char *b;

    n_got = 0;
    got[0] = '\0';
    say_with(method, path, fields, text);
    UNTIL((more(), whole(got) > 0));
    json_decref(js);
    b = strstr(got, "\r\n\r\n") + 4;
    js = *b != '\0' ? json_loads(b, 0, NULL) : NULL;
    return atoi(got + 9);
}

static inline int call(const char *method, const char *path, const char *text)
{
    return call_with(method, path, "", text);
}

static inline const char *str(const char *key)
{
    const char *s = json_string_value(json_object_get(js, key));
    return s != NULL ? s : "";
}

static inline json_int_t num(const char *key)
{
    return json_integer_value(json_object_get(js, key));
}

static inline const char *ticket_path(uint32_t number, seg_id seg)
{
    static char p[100] = "/v1/tickets/";
    struct token t = { .seg = seg, .number = number, .issued_s = 1 };

    token_write(&t, &w.r->keys.token, p + 12);
    p[12 + TOKEN_TEXT_LEN] = '\0';
    return p;
}

/* ---- the world ---- */

static struct rpc *peer(enum rpc_role role, const char *node)
{
    struct rpc_opts o = { .role = role,
                          .node = node,
                          .incarnation = 1,
                          .link_key = w.r->keys.link,
                          .heartbeat_ms = 200 };
    struct err e = { 0 };
    struct rpc *p;

    cr_assert_eq(rpc_new(&p, w.ev, &o, &e), 0, "%s", e.text);
    return p;
}

static void start_segment(const char *addr)
{
    static const struct rpc_calls c = { .on_frame = seg_frame };
    struct err e = { 0 };

    w.seg = peer(RPC_SEGMENT, "seg1");
    cr_assert_eq(rpc_listen(w.seg, addr, 1u << RPC_ROUTER, &c, NULL, &e), 0, "%s",
                 e.text);
    strcpy(w.seg_addr, rpc_listen_addr(w.seg));
}

static void dial(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons(w.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    w.fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(w.fd, (struct sockaddr *)&a, sizeof(a)), 0);
    fcntl(w.fd, F_SETFL, O_NONBLOCK);
}

static void write_claim_key(const char *text)
{
    FILE *f;

    snprintf(claim_file, sizeof(claim_file), "%s/claim.key", w.dir);
    umask(077);
    f = fopen(claim_file, "w");
    cr_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void with_claims(void)
{
    static struct cfg_claim_key key;

    write_claim_key(claim_secret);
    key = (struct cfg_claim_key){ "shop", CLAIM_HS256, claim_file, (char *)"" };
    w.cfg.claim_keys = (struct cfg_list){ &key, 1 };
    w.cfg.claim_max_ttl = 900000;
}

/* The router dials a manager whose address is known before the manager is there: this process' own
 * one of the loopback network, since a port of 127.0.0.1 that is free now may be taken then. */
static uint32_t own_address(void)
{
    return INADDR_LOOPBACK + 0x010000u + ((uint32_t)getpid() & 0x3fffff);
}

static void start_router(void)
{
    static char secret[100], mng_addr[64];
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(own_address()) };
    socklen_t len = sizeof(a);
    struct err e = { 0 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    getsockname(fd, (struct sockaddr *)&a, &len);
    snprintf(mng_addr, sizeof(mng_addr), "%s:%d", inet_ntoa(a.sin_addr), ntohs(a.sin_port));
    snprintf(secret, sizeof(secret), "%s/secret", w.dir);
    w.managers[0] = mng_addr;
    w.cfg = (struct router_cfg) { .node = "r1", .compat_time = (char *)(uintptr_t)"rfc3339",
                                  .region = (char *)"", .zone = (char *)"",
                                  .listen = "127.0.0.1:0",
                                  .admin = "127.0.0.1:0",
                                  .secret_file = secret,
                                  .log_file = "",
                                  .admin_tls = { (char *)"", (char *)"" },
                                  .tls = { .cert = (char *)"", .key = (char *)"",
                                           .ca = (char *)"", .name = (char *)"" },
                                  .gate_secret_file = (char *)"",
                                  .verify_secret_file = (char *)"",
                                  .gate_subject_header = (char *)"",
                                  .task_tokens = task_tokens,
                                  .listen_tasks = listen_tasks,
                                  .create_keys = true,
                                  .managers = { w.managers, 1 },
                                  .allow_origins = allow_origins,
                                  .trusted_proxies = trusted_proxies,
                                  .max_conns = max_conns,
                                  .max_listeners = 1000,
                                  .request_timeout = 400,
                                  .heartbeat = 200,
                                  .replica_fresh = replica_fresh,
                                  .log_level = 2 };
    if (claim_secret != NULL)
        with_claims();
    cr_assert_eq(router_new(&w.r, w.ev, &w.cfg, &e), 0, "%s", e.text);
    close(fd); /* not before: the router takes any free ports */
    w.port = (uint16_t)atoi(strrchr(httpd_addr(w.r->httpd), ':') + 1);
}

static void start_manager(void)
{
    static const struct rpc_calls c = { .on_frame = mng_frame };
    struct err e = { 0 };

    w.mng = peer(RPC_MANAGER, "m1");
    cr_assert_eq(rpc_listen(w.mng, w.managers[0], 1u << RPC_ROUTER, &c, NULL, &e), 0,
                 "%s", e.text);
}

static void setup(void)
{
    struct err e = { 0 };

    memset(&w, 0, sizeof(w));
    strcpy(w.dir, "/tmp/segq-router-XXXXXX");
    cr_assert(mkdtemp(w.dir) != NULL);
    setenv("SEGQ_DEBUG", "1", 1);
    cr_assert_eq(keys_init(&e), 0);
    cr_assert_eq(ev_new(&w.ev, &e), 0);
    arena_init(&w.arena);
    start_router();
    dial();
}

static void setup_all(void)
{
    setup();
    start_segment("127.0.0.1:0");
    start_manager();
    UNTIL(router_is_ready(w.r));
}

static void teardown(void)
{
    json_decref(js);
    close(w.fd);
    router_free(w.r);
    rpc_free(w.mng);
    rpc_free(w.seg);
    ev_free(w.ev);
    arena_fini(&w.arena);
    unlink(w.cfg.secret_file);
    unlink(claim_file);
    rmdir(w.dir);
}

#endif
