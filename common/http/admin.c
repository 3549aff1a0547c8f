/* admin.c: the admin server: the operator, the answer, answers that come later. The
 * connections, their limits and the reading of requests are httpd's, as at the public port.
 *
 * A 401 is answered 200 ms late, without holding up anybody else; while too many of them
 * wait, further ones are answered 503 at once, so that they cost nothing. That says "wrong", too: what
 * keeps a token from being guessed is its length. Answers that are not read are bounded, too: of all
 * connections together, as operators are few. */
#include "common/http/admin.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/http/http.h"
#include "common/http/httpd.h"
#include "common/http/request_headers.h"
#include "common/net/net.h"
#include "common/net/tls_server.h"

#define LOG_MODULE     "admin"
#define CONNS_MAX      256
#define BODY_BYTES     (1u << 20)
#define INPUT_BYTES    (16u << 20) /* bytes of all connections */
#define ANSWER_BYTES   (64u << 20) /* a view of ten thousand queues */
#define UNREAD_BYTES   (96u << 20) /* answers of all connections */
#define PIPELINED      16
#define BODY_MS        30000 /* also: nothing of an answer is read */
#define PENALTY_MS     200
#define PENALTIES_MAX  64
#define PATH_BYTES     1024
/* The dashboard's files come from here, and nothing from elsewhere; no inline scripts or
 * styles, and no text that a script could turn into markup. */
#define POLICY                                                                           \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "      \
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "  \
    "require-trusted-types-for 'script'; trusted-types 'none'"

struct admin {
    struct ev *ev; /* ref */
    struct httpd *http;
    struct tls_server *tls; /* owned */
    const char *(*refused)(void);
    admin_metrics metrics;
    admin_handler handler;
    bool (*healthy)(void *ctx, struct buf *why);
    void *ctx;
    struct list penalties; /* 401s that leave late */
    struct list held;      /* answers that their handlers keep back */
    struct buf headers;    /* headers of the answer being sent */
};

struct admin_asked { /* a request whose handler runs */
    struct admin *admin;
    struct httpd_req *req;
    struct admin_held *held; /* NULL: is answered now */
};

struct admin_held {
    struct list_node node; /* admin.held or admin.penalties */
    struct admin *admin;   /* ref */
    struct httpd_req *req; /* httpd's; NULL: its client is gone */
    struct ev_timer *late; /* timer of a penalty */
    struct admin_ans ans;
};

struct asker { /* a connection's tag */
    char addr[NET_TEXT_MAX];
};

/* ---- the operator ---- */

/* The token, if the header has one. */
static void read_token(struct admin_req *q, struct slice said)
{
    if (said.n < 7 || !http_ieq(said.p, "bearer", 6) || said.p[6] != ' ')
        return;
    q->token = said.p + 7;
    q->token_len = said.n - 7;
}

static bool on_conn(void *ctx, const struct net_addr *peer, uint64_t *tag)
{
    struct asker *k = malloc(sizeof(*k));

    (void)ctx;
    if (k == NULL)
        return false;
    net_ip_text(peer, k->addr);
    *tag = (uintptr_t)k;
    return true;
}

static void on_conn_end(void *ctx, uint64_t tag)
{
    (void)ctx;
    free((struct asker *)(uintptr_t)tag);
}

/* ---- answers ---- */

static void line(struct buf *b, const char *name, const char *value)
{
    if (value != NULL)
        buf_printf(b, "%s: %s\r\n", name, value);
}

/* NULL: no memory. */
static const char *headers(struct admin *a, const struct admin_ans *ans)
{
    struct buf *b = &a->headers;

    buf_reset(b);
    line(b, "ETag", ans->etag);
    line(b, "Allow", ans->allow);
    line(b, "Location", ans->location);
    line(b, "Set-Cookie", ans->set_cookie[0] != '\0' ? ans->set_cookie : NULL);
    line(b, "WWW-Authenticate", ans->status == 401 ? "Bearer" : NULL);
    line(b, "Retry-After", ans->status == 429 || ans->status == 503 ? "1" : NULL);
    line(b, "Content-Encoding", ans->gzip ? "gzip" : NULL);
    line(b, "Vary", ans->gzip ? "Accept-Encoding" : NULL);
    line(b, "Referrer-Policy", "no-referrer");
    line(b, "Content-Security-Policy", POLICY);
    line(b, "X-Request-Id", ans->request_id);
    buf_byte(b, '\0');
    return b->failed ? NULL : (const char *)b->data;
}

static void send_now(struct admin *a, struct httpd_req *req, const struct admin_ans *ans)
{
    const char *lines = headers(a, ans);

    if (lines == NULL || ans->body.failed) /* no memory to say more */
        httpd_answer(req, 503, NULL, "Retry-After: 1\r\n", "", 0);
    else
        httpd_answer(req, ans->status, ans->content_type, lines,
                     (const char *)ans->body.data, ans->body.len);
}

/* ---- answers that come later ---- */

static struct admin_held *hold(struct admin *a, struct httpd_req *req, struct list *in)
{
    struct admin_held *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return NULL;
    h->admin = a;
    h->req = req;
    httpd_set_user(req, h);
    list_push_back(in, &h->node);
    return h;
}

static void held_free(struct admin_held *h)
{
    list_remove(h->late != NULL ? &h->admin->penalties : &h->admin->held, &h->node);
    ev_timer_free(h->late);
    buf_fini(&h->ans.body);
    free(h);
}

/* The body is the held one's from now on. */
static void held_take(struct admin_held *h, struct admin_ans *ans)
{
    assert(h->ans.body.data == NULL);
    h->ans = *ans;
    h->ans.asked = NULL;
    if (ans->etag == ans->etag_buf)
        h->ans.etag = h->ans.etag_buf;
    if (ans->location == ans->location_buf)
        h->ans.location = h->ans.location_buf;
    buf_init(&ans->body);
}

static void on_penalty_over(void *arg)
{
    struct admin_held *h = arg;

    assert(h->req != NULL && h->ans.status == 401); /* on_gone() frees the others */
    send_now(h->admin, h->req, &h->ans);
    held_free(h);
}

/* False: no memory, it is answered at once. */
static bool delay(struct admin *a, struct httpd_req *req, struct admin_ans *ans)
{
    struct admin_held *h = hold(a, req, &a->penalties);

    if (h == NULL)
        return false;
    h->late = ev_timer_new(a->ev, on_penalty_over, h);
    if (h->late == NULL) {
        list_remove(&a->penalties, &h->node);
        free(h);
        return false;
    }
    held_take(h, ans);
    ev_timer_at(h->late, ev_now(a->ev) + PENALTY_MS);
    return true;
}

static void reply(struct admin *a, struct httpd_req *req, struct admin_ans *ans)
{
    if (ans->body.failed)
        admin_problem(ans, 503, "queue_unavailable", "out of memory");
    if (ans->body.len > ANSWER_BYTES)
        admin_problem(ans, 503, "queue_unavailable", "the answer is too big");
    if (ans->status == 401 && a->penalties.n >= PENALTIES_MAX)
        admin_problem(ans, 503, "queue_unavailable", "too many wrong tokens at once");
    if (ans->status != 401 || !delay(a, req, ans))
        send_now(a, req, ans);
}

struct admin_held *admin_hold(struct admin_ans *a)
{
    struct admin_asked *k = a->asked;

    assert(k != NULL && k->held == NULL); /* once, from inside the handler */
    k->held = hold(k->admin, k->req, &k->admin->held);
    return k->held;
}

struct admin_ans *admin_held_ans(struct admin_held *h)
{
    return &h->ans;
}

void admin_send(struct admin_held *h)
{
    if (h->req != NULL)
        reply(h->admin, h->req, &h->ans);
    held_free(h);
}

static void on_gone(void *ctx, struct httpd_req *req, void *user)
{
    struct admin_held *h = user;

    (void)ctx;
    (void)req;
    h->req = NULL;
    if (h->late != NULL)
        held_free(h); /* else its handler will send it */
}

/* ---- requests ---- */

static const char *method_name(enum http_method m)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",       [HTTP_HEAD] = "GET",         [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",       [HTTP_DELETE] = "DELETE",    [HTTP_PATCH] = "PATCH",
        [HTTP_OPTIONS] = "OPTIONS", [HTTP_OTHER] = "OTHER",
    };

    return names[m];
}

static void answer_metrics(struct admin *a, struct admin_ans *ans)
{
    ans->status = 200;
    ans->content_type = "text/plain; version=0.0.4; charset=utf-8";
    if (a->metrics != NULL)
        a->metrics(a->ctx, &ans->body);
    if (a->refused != NULL)
        metrics_value(&ans->body, "segq_reload_refused", METRIC_GAUGE,
                      "1: the last HUP was refused, or a file that it reads; what was read before is used",
                      a->refused()[0] != '\0');
    httpd_tls_metrics(&ans->body, "segq_admin_", httpd_counts(a->http), tls_server_lapses_s(a->tls));
}

static void answer_health(struct admin *a, struct admin_ans *ans)
{
    struct buf why;

    buf_init(&why);
    if (a->healthy == NULL || a->healthy(a->ctx, &why)) {
        if (a->refused != NULL && a->refused()[0] != '\0') /* the old one serves as well */
            buf_printf(&why, "%s%s", why.len > 0 ? "; " : "", a->refused());
        ans->status = 200;
        ans->content_type = "application/json";
        buf_str(&ans->body, "{\"status\":\"ok\"");
        if (why.len > 0) {
            buf_str(&ans->body, ",\"warning\":");
            json_ascii(&ans->body, (const char *)why.data, why.len);
        }
        buf_str(&ans->body, "}\n");
    } else {
        admin_problem(ans, 503, "queue_unavailable", "%.*s", (int)why.len,
                      why.len != 0 ? (const char *)why.data : "");
    }
    buf_fini(&why);
}

static void answer_other(struct admin *a, const struct admin_req *q,
                         struct admin_ans *ans)
{
    ans->status = 0;
    if (a->handler != NULL)
        a->handler(a->ctx, q, ans);
    if (ans->status == 0)
        admin_problem(ans, 404, "not_found", "there is no %.200s", q->path);
}

static void route(struct admin *a, const struct admin_req *q, struct admin_ans *ans)
{
    bool metrics = strcmp(q->path, "/metrics") == 0,
         health = strcmp(q->path, "/healthz") == 0;

    if ((metrics || health) && strcmp(q->method, "GET") != 0) {
        ans->allow = "GET, HEAD";
        admin_problem(ans, 405, "method_not_allowed", "%s takes GET only", q->path);
    } else if (metrics) {
        answer_metrics(a, ans);
    } else if (health) {
        answer_health(a, ans);
    } else {
        answer_other(a, q, ans);
    }
}

enum {
    IF_MATCH, IF_NONE_MATCH, OPERATOR, ENCODINGS, DASHBOARD, PROTO, ORIGIN, USER, EMAIL, GROUPS,
    PROOF, N_FIELDS
};

/* The value of each, "" if it does not come, and how often it does. All are looked for before the first
 * is ended in place: that would end the search, too. */
static void fields(const struct http_req *q, const char *value[N_FIELDS], unsigned n[N_FIELDS])
{
    static const char *const lower[N_FIELDS] = { "if-match", "if-none-match", "x-segq-operator",
                                                 "accept-encoding", "x-segq-dashboard",
                                                 "x-forwarded-proto", "origin", "x-forwarded-user",
                                                 "x-forwarded-email", "x-forwarded-groups",
                                                 "x-segq-proxy" };
    struct slice v[N_FIELDS] = { { 0 } };

    for (size_t i = 0; i < N_FIELDS; i++)
        n[i] = http_find(q, lower[i], &v[i]);
    for (size_t i = 0; i < N_FIELDS; i++) {
        value[i] = n[i] > 0 ? v[i].p : "";
        if (n[i] > 0)
            v[i].p[v[i].n] = '\0'; /* at least a CR stands there */
    }
}

/* Has the browser come by https? It says so itself, where a page sends more than GET; a proxy may not,
 * and may speak to us in another way than the browser speaks to it. */
static bool is_https(const char *origin, const char *proto, bool sealed)
{
    if (strncmp(origin, "http://", 7) == 0 || strncmp(origin, "https://", 8) == 0)
        return origin[4] == 's';
    return proto[0] != '\0' ? strcmp(proto, "https") == 0 : sealed;
}

/* Reads the head; false: no handler could be asked that. Texts are ended in place: each
 * is followed by a byte of the head that nobody needs any more. */
static bool read_head(const struct http_req *h, struct admin_req *q, char path[PATH_BYTES],
                      struct admin_ans *ans)
{
    const char *value[N_FIELDS];
    unsigned n[N_FIELDS];
    struct cookies cookies = { 0 };
    struct slice session = { 0 };
    bool has_session = cookie_next(&cookies, h, ADMIN_COOKIE, &session);

    fields(h, value, n);
    q->forwarded = (struct admin_forwarded){ value[USER], value[EMAIL], value[GROUPS],
                                             n[USER] > 1 || n[EMAIL] > 1 || n[GROUPS] > 1,
                                             value[PROOF], &h->x_forwarded_for };
    q->session = has_session ? session.p : "";
    q->session_len = session.n;
    q->dashboard = value[DASHBOARD][0] != '\0';
    q->https = is_https(value[ORIGIN], value[PROTO], q->https);
    q->if_match = value[IF_MATCH];
    q->if_none_match = value[IF_NONE_MATCH];
    q->operator_name = value[OPERATOR];
    q->gzip = admin_takes_gzip(value[ENCODINGS]);
    if (h->query.n > 0) {
        q->query = h->query.p;
        h->query.p[h->query.n] = '\0';
    }
    q->raw_path = h->path.p;
    path[0] = '\0';
    if (h->path.p[0] != '/' ||
        !admin_unescape(h->path.p, h->path.n, false, path, PATH_BYTES))
        admin_problem(ans, 400, "bad_request", "the path cannot be read");
    else if (n[IF_MATCH] > 1 || n[IF_NONE_MATCH] > 1 || n[OPERATOR] > 1)
        admin_problem(ans, 400, "bad_request", "a header comes twice that may come once");
    else
        h->path.p[h->path.n] = '\0';
    return ans->status == 0;
}

static void new_id(struct admin_ans *ans)
{
    snprintf(ans->request_id, sizeof(ans->request_id), "%08x%08x", randombytes_random(),
             randombytes_random());
}

static void on_request(void *ctx, struct httpd_req *req, const struct http_req *h)
{
    struct admin *a = ctx;
    struct admin_asked asked = { .admin = a, .req = req };
    struct admin_ans ans = { .asked = &asked };
    const struct asker *k = (struct asker *)(uintptr_t)httpd_tag(req);
    char path[PATH_BYTES];
    struct admin_req q = { .method = method_name(h->method),
                           .path = path,
                           .query = "",
                           .from = k->addr,
                           .https = httpd_is_sealed(req),
                           .token = "",
                           .session = "",
                           .body = (const uint8_t *)h->body.p,
                           .body_len = h->body.n };

    new_id(&ans);
    read_token(&q, h->authorization);
    if (httpd_counts(a->http)->out_now > UNREAD_BYTES)
        admin_problem(&ans, 503, "queue_unavailable", "too many answers are not read");
    else if (read_head(h, &q, path, &ans))
        route(a, &q, &ans);
    log_debug("event=request id=%s method=%s path=%s status=%d", ans.request_id, q.method,
              log_q(path, strlen(path)), ans.status);
    if (asked.held != NULL)
        held_take(asked.held, &ans);
    else
        reply(a, req, &ans);
    buf_fini(&ans.body);
}

static void on_bad(void *ctx, struct httpd_req *req, int status, const struct http_req *q)
{
    struct admin *a = ctx;
    struct admin_ans ans = { 0 };

    (void)q;
    new_id(&ans);
    admin_problem(&ans, status, problem_code_of_http(status),
                  "this is not a request that this server accepts");
    send_now(a, req, &ans);
    buf_fini(&ans.body);
}

/* ---- life ---- */

const char *admin_addr(const struct admin *a)
{
    return httpd_addr(a->http);
}

bool admin_is_sealed(const struct admin *a)
{
    return tls_server_is_on(a->tls);
}

int admin_reload(struct admin *a, const struct cfg_cert *cert, struct err *e)
{
    return tls_server_load(a->tls, NULL, cert, cfg_has_cert(cert), e);
}

void admin_set_hsts(struct admin *a, msec_t ms)
{
    tls_server_set_hsts(a->tls, ms / 1000);
}

/* No tickets: operators are few, and their connections stay. */
static int open_tls(struct admin *a, const struct cfg_cert *cert, struct err *e)
{
    a->tls = tls_server_new(&(const struct tls_server_opts){ 0 });
    if (a->tls == NULL)
        return err_set(e, SQ_ENOMEM, "admin: out of memory");
    return cert == NULL ? 0 : admin_reload(a, cert, e);
}

static int open_http(struct admin *a, const char *addr, struct err *e)
{
    static const struct httpd_calls calls = { .on_request = on_request,
                                              .on_gone = on_gone,
                                              .on_bad = on_bad,
                                              .on_conn = on_conn,
                                              .on_conn_end = on_conn_end };
    struct httpd_opts o = { .addr = addr,
                            .port_alone = true,
                            .max_conns = CONNS_MAX,
                            .body_ms = BODY_MS,
                            .max_pipelined = PIPELINED,
                            .max_body = BODY_BYTES,
                            .max_input_bytes = INPUT_BYTES,
                            .max_output_bytes = ANSWER_BYTES + (1u << 20),
                            .tls = a->tls };
    int rc = httpd_new(&a->http, a->ev, &o, &calls, a, e);

    return rc < 0 ? err_wrap(e, "admin") : 0;
}

int admin_new(struct admin **out, struct ev *ev, const struct admin_opts *o,
              struct err *e)
{
    struct admin *a = sodium_init() < 0 ? NULL : calloc(1, sizeof(*a));
    int rc;

    if (a == NULL)
        return err_set(e, SQ_ENOMEM, "admin: out of memory");
    a->ev = ev;
    a->metrics = o->metrics;
    a->handler = o->handler;
    a->healthy = o->healthy;
    a->ctx = o->ctx;
    list_init(&a->penalties);
    list_init(&a->held);
    buf_init(&a->headers);
    a->refused = o->refused;
    rc = open_tls(a, o->cert, e);
    if (rc == 0)
        rc = open_http(a, o->addr, e);
    if (rc < 0) {
        admin_free(a);
        return rc;
    }
    *out = a;
    return 0;
}

void admin_free(struct admin *a)
{
    if (a == NULL)
        return;
    httpd_free(a->http); /* requests that wait for a late 401 go with it */
    tls_server_free(a->tls);
    list_each(&a->held, it)
        held_free(container_of(it, struct admin_held, node));
    buf_fini(&a->headers);
    free(a);
}
