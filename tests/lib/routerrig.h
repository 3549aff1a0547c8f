/* routerrig.h: a whole router between a client socket, a made-up manager and a made-up
 * segment node, all in one loop. Numbers of tickets tell the node how to answer. */
#ifndef SEGQ_TESTS_ROUTERRIG_H
#define SEGQ_TESTS_ROUTERRIG_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
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

#include "common/wire/codec.h"
#include "common/wire/replica_bytes.h"
#include "router/service/dispatch.h"
#include "router/service/metrics.h"
#include "router/service/service.h"
#include "router/state/pass_time.h"
#include "tests/lib/turn.h"

enum { N_GONE = 1000, N_ADMITTED, N_BUSY, N_SILENT, N_MOVED, N_UNKNOWN, N_SPECIAL_END };

struct world {
    struct ev *ev;
    struct router *r;
    struct router_cfg cfg;
    char *managers[1];
    struct rpc *mng, *seg;
    struct rpc_chan *mng_ch, *seg_ch;
    char seg_addr[64], dir[64];
    struct arena arena;
    uint16_t port;
    unsigned regs, places, place_frames, appends, append_frames, drops, busy;
    struct append_req last_append;
    char last_subject[SUBJECT_MAX_LEN + 1];
    uint64_t map_epoch; /* of the maps to come; 0 = 1 */
    uint32_t map_format;
    uint64_t last_reg_version;
    bool hold; /* the node does what it is asked, but never answers */
    bool sealed;
    uint32_t poll_ms;  /* that is told; 0 = 3000 */
    uint32_t moved;    /* so many before each have gone */
    enum gone_reason ends; /* all are over; 0: none is */
    enum no_place no_place; /* nobody has a position, and that is why */
    const char *page;   /* what the maps to come say of the queue's page, as JSON */
    const char *message;  /* the operator's, in the next map */
    struct map_phase when; /* ... of its phase */
    bool short_answers; /* the node answers joins with one answer too few */
    const char *gate;        /* of the queue in the map, as JSON */
    uint32_t session_max_s, session_idle_s;
    const char *renewed;     /* the pass that renewals are answered with; NULL: none */
    bool sess_silent;        /* they are not answered */
    struct sess_req sess;    /* the last one that was asked */
    unsigned n_sess;
    int64_t clock_ms;        /* of releases, as the manager tells it; 0: it does not */
    uint8_t sess_state;      /* what is answered */
    unsigned seen;           /* frames of SEEN with polls in them */
    unsigned n_seen, seen_flags; /* all frames of SEEN; what any of them said */
    enum { SEEN_TAKEN, SEEN_REFUSED, SEEN_UNHEARD } does_with_seen;
    int fd;
};

static struct world w;
static char claim_file[100];
static struct cfg_list allow_origins;    /* of the router */
static char *task_tokens;               /* of the router; NULL: no tasks */
static const uint8_t (*map_keys)[32]; /* one public key; NULL: a made-up one */
static msec_t replica_fresh; /* not 0: the node pushes who waits: numbers 1 to 999 of segment 1 */
static const char *claim_secret;      /* there is a lane "vip", and a key "shop"; NULL: not */

static void send_msg(struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    cr_assert_eq(rpc_send(ch, m, rid), 0);
}

/* ---- the manager ---- */

static void send_map(uint64_t from, uint64_t version, uint8_t state, bool with_next)
{
    static const uint8_t none[1][32] = { { 1, 2, 3 } };
    const uint8_t(*keys)[32] = map_keys != NULL ? map_keys : none;
    struct map_node node = { 1, "seg1", w.seg_addr };
    struct map_seg segs[2] = { { 1, 1, with_next ? SEG_SEALED : SEG_OPEN },
                               { 2, 1, SEG_OPEN } };
    struct map_seg vip = { 3, 1, SEG_OPEN };
    struct map_lane lane[2] = { { .name = "default",
                                  .n_segs = with_next ? 2 : 1,
                                  .segs = segs },
                                { .name = "vip", .n_segs = 1, .segs = &vip } };
    struct map_queue q = { .id = 7, .name = "login", .state = state,
                           .n_lanes = claim_secret != NULL ? 2 : 1, .lanes = lane,
                           .page = w.page, .message = w.message, .when = w.when,
                           .gate = w.gate, .pass_ttl_s = 300,
                           .session_max_s = w.session_max_s,
                           .session_idle_s = w.session_idle_s };
    struct msg m = { .type = MSG_MAP };

    m.map = (struct msg_map) { .format = w.map_format,
                               .epoch = w.map_epoch != 0 ? w.map_epoch : 1,
                               .from_version = from,
                               .version = version,
                               .next_seg = 100,
                               .n_nodes = 1,
                               .n_queues = 1,
                               .nodes = &node,
                               .queues = &q,
                               .n_keys = 1,
                               .keys = keys };
    send_msg(w.mng_ch, &m, 0);
}

static void send_stats(void)
{
    struct queue_stats s = { .id = 7,
                             .ready = 1,
                             .active = 2,
                             .rate_milli_per_s = 10000,
                             .limited_by = "fixed",
                             .n_lanes = 1,
                             .lane = { { 500, 10000 } } };
    struct msg m = { .type = MSG_STATS };

    m.stats = (struct msg_stats) { .n = 1, .queues = &s, .clock_ms = w.clock_ms };
    send_msg(w.mng_ch, &m, 0);
}

static void mng_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct msg m;

    (void)ctx;
    cr_assert_eq(msg_decode(f->type, f->body, f->len, &w.arena, &m), 0);
    cr_assert_eq(m.type, MSG_ROUTER_REG);
    w.mng_ch = ch;
    w.regs++;
    w.last_reg_version = m.router_reg.map_version;
    send_map(0, 5, QUEUE_OPEN, false);
    send_stats();
    arena_reset(&w.arena);
}

/* ---- the segment node ---- */

static void place(const struct place_req *q, struct place_ans *a)
{
    w.places++;
    a->state = PLACE_WAITING;
    a->position = w.no_place == NO_PLACE_UNSAID ? q->number - w.moved : 0;
    a->reason = (uint8_t)w.no_place;
    a->poll_after_ms = w.poll_ms != 0 ? w.poll_ms : 3000;
    if (q->number == N_GONE || w.ends != 0) {
        a->state = PLACE_GONE;
        a->reason = w.ends != 0 ? w.ends : GONE_NO_SHOW;
    } else if (q->number == N_ADMITTED) {
        *a = (struct place_ans) { .state = PLACE_ADMITTED,
                                  .pass = "a.b.c",
                                  .pass_len = 5,
                                  .released_at_ms = 1700000000123,
                                  .pass_expires_s = 1700000300 };
    } else if (q->number == N_BUSY && w.busy-- > 0) {
        a->state = PLACE_BUSY;
    } else if (q->number == N_UNKNOWN) {
        a->state = PLACE_UNKNOWN;
    }
}

static void append(const struct append_req *q, struct append_ans *a)
{
    *a = (struct append_ans) { .state = APPEND_OK,
                               .client = q->client,
                               .seg = q->seg,
                               .number = w.appends,
                               .issued_s = 1700000000,
                               .poll_after_ms = 1000,
                               .no_place = (uint8_t)w.no_place,
                               .position = w.no_place == NO_PLACE_UNSAID ? w.appends + 1 : 0 };
    w.appends++;
    w.last_append = *q;
    snprintf(w.last_subject, sizeof(w.last_subject), "%.*s", (int)q->subject_len,
             q->subject_len > 0 ? q->subject : "");
    if (q->subject_len == 5 && memcmp(q->subject, "known", 5) == 0)
        a->state = APPEND_EXISTING;
    if (w.sealed && q->seg == 1)
        *a = (struct append_ans) { .state = APPEND_SEALED, .next = 2 };
}

/* Places and intervals are those of place(). */
static void push(struct rpc_chan *ch, const struct msg_seen *q)
{
    static struct pace_entry pace = { 7, 0, 60000, 600000, 0 };
    static uint8_t lines[16];
    struct replica_row row = { .name = 1, .host = 1, .queue = 7, .flags = REPLICA_NEW,
                               .end = N_GONE, .head = 1, .told_max_ms = 3000, .lines = lines };
    struct msg m = { .type = MSG_REPLICA };
    uint32_t next = 0;

    m.replica = (struct msg_replica) { .stamp_ms = q->clock_ms, .echo_ms = q->clock_ms,
                                       .seen = q->seq };
    if (w.seen == 0 && q->n == 0) { /* the first on this link */
        row.n_lines = (uint32_t)(lines_put(lines, &next, 0, 2, 0) - lines);
        m.replica.flags = REPLICA_WHOLE | REPLICA_END;
        m.replica.n = m.replica.n_pace = 1;
        m.replica.v = &row;
        m.replica.pace = &pace;
    }
    w.seen += q->n > 0;
    send_msg(ch, &m, 0);
}

static void seg_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    static struct place_ans pa[MSG_BATCH_MAX];
    static struct append_ans aa[MSG_BATCH_MAX];
    static struct drop_ans da[MSG_BATCH_MAX];
    static struct sess_ans sa[MSG_BATCH_MAX];
    struct msg m, out = { 0 };

    (void)ctx;
    w.seg_ch = ch;
    memset(pa, 0, sizeof(pa));
    memset(da, 0, sizeof(da));
    cr_assert_eq(msg_decode(f->type, f->body, f->len, &w.arena, &m), 0);
    if (m.type == MSG_SEEN) {
        w.n_seen++;
        w.seen_flags |= m.seen.flags;
        if (w.does_with_seen == SEEN_TAKEN)
            push(ch, &m.seen);
        if (w.does_with_seen == SEEN_REFUSED)
            send_msg(ch, &(struct msg) { .type = MSG_ERROR, .error = { SQ_EUNKNOWN, MSG_SEEN, "" } },
                     f->rid);
        arena_reset(&w.arena);
        return;
    }
    if (m.type == MSG_PLACE) {
        bool silent = w.hold;
        w.place_frames++;
        for (uint32_t i = 0; i < m.place.n; i++) {
            silent |= m.place.req[i].number == N_SILENT;
            place(&m.place.req[i], &pa[i]);
        }
        out.type = MSG_PLACE_ANS;
        out.place_ans = (struct msg_place_ans) { m.place.n, pa };
        if (silent)
            return;
    } else if (m.type == MSG_APPEND) {
        w.append_frames++;
        for (uint32_t i = 0; i < m.append.n; i++)
            append(&m.append.req[i], &aa[i]);
        if (w.hold)
            return;
        out.type = MSG_APPEND_ANS;
        out.append_ans = (struct msg_append_ans) { m.append.n - w.short_answers, aa };
    } else if (m.type == MSG_SESSION) {
        w.sess = m.session.req[0];
        w.n_sess += m.session.n;
        for (uint32_t i = 0; i < m.session.n; i++)
            sa[i] = (struct sess_ans) { .state = w.sess_state, .until_s = w.sess.until_s };
        for (uint32_t i = 0; i < m.session.n && w.renewed != NULL; i++)
            if (m.session.req[i].renews) {
                sa[i].pass = w.renewed;
                sa[i].pass_len = (uint16_t)strlen(w.renewed);
            }
        if (w.sess_silent)
            return;
        out.type = MSG_SESSION_ANS;
        out.session_ans = (struct msg_session_ans) { m.session.n, sa };
    } else {
        cr_assert_eq(m.type, MSG_DROP);
        w.drops += m.drop.n;
        out.type = MSG_DROP_ANS;
        out.drop_ans = (struct msg_drop_ans) { m.drop.n, da };
    }
    send_msg(ch, &out, f->rid);
    arena_reset(&w.arena);
}

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

/* The router dials a manager whose address is known before the manager is there. */
static void start_router(void)
{
    static char secret[100], mng_addr[64];
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    struct err e = { 0 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    getsockname(fd, (struct sockaddr *)&a, &len);
    snprintf(mng_addr, sizeof(mng_addr), "127.0.0.1:%d", ntohs(a.sin_port));
    snprintf(secret, sizeof(secret), "%s/secret", w.dir);
    w.managers[0] = mng_addr;
    w.cfg = (struct router_cfg) { .node = "r1",
                                  .listen = "127.0.0.1:0",
                                  .admin = "127.0.0.1:0",
                                  .secret_file = secret,
                                  .log_file = "",
                                  .gate_secret_file = (char *)"",
                                  .gate_subject_header = (char *)"",
                                  .task_tokens = task_tokens,
                                  .create_keys = true,
                                  .managers = { w.managers, 1 },
                                  .allow_origins = allow_origins,
                                  .max_conns = 100,
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
