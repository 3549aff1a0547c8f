/* admin.c: the admin server's socket, limits and headers around evhttp.
 *
 * evhttp reads a request whole before we see it, so its own limits are set (16 KiB of
 * headers, 1 MiB of body, 10 s of silence). A request that it cannot read it answers
 * itself. It gives no TCP_NODELAY and a short backlog: we listen ourselves.
 * Without descriptors it stops accepting for 100 ms at a time, and does not spin.
 * A 401 is answered 200 ms late, without holding up anybody else; while too many of them
 * wait, further ones are answered 503: guessing gets no faster by asking in parallel. */
#include "common/admin_int.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/list.h"
#include "common/http.h"
#include "common/log.h"
#include "common/net.h"

#define LOG_MODULE    "admin"
#define BACKLOG       128
#define HEADERS_BYTES (16 << 10)
#define BODY_BYTES    (1 << 20)
#define TIMEOUT_S     10
#define PENALTY_MS    200
#define PENALTIES_MAX 64
#define PATH_BYTES    1024
/* The dashboard's files come from here, and nothing from elsewhere; no inline scripts or
 * styles, and no text that a script could turn into markup. */
#define POLICY                                                                           \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "      \
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "  \
    "require-trusted-types-for 'script'; trusted-types 'none'"
#define RETRY_MS      100 /* without descriptors: until the next try to accept */

struct admin {
    struct ev *ev; /* ref */
    struct evhttp *http;
    bool guarded;       /* a token is wanted */
    uint8_t bearer[32]; /* hash of it */
    admin_metrics metrics;
    admin_handler handler;
    bool (*healthy)(void *ctx, struct buf *why);
    void *ctx;
    struct list penalties; /* late answers */
    struct list held;      /* answers that their handlers keep back */
    struct evconnlistener *listener; /* ref: evhttp's */
    msec_t watched; /* when it was last made sure that we accept */
    char addr[NET_TEXT_MAX];
};

struct penalty {
    struct list_node node;      /* admin.penalties */
    struct admin *admin;        /* ref */
    struct evhttp_request *req; /* evhttp's; complete but for sending */
    struct ev_timer *timer;
    int status;
};

struct admin_asked { /* a request whose handler runs */
    struct admin *admin;
    struct evhttp_request *req;
    struct admin_held *held; /* NULL: is answered now */
};

struct admin_held {
    struct list_node node; /* admin.held */
    struct admin *admin;   /* ref */
    struct evhttp_request *req; /* evhttp's; if its client is gone, only to be freed */
    struct admin_ans ans;
};

/* ---- who asks ---- */

/* Hashes are compared, so that the time says nothing of the token's length either. */
static void hash(uint8_t out[32], const char *s)
{
    crypto_generichash(out, 32, (const uint8_t *)s, strlen(s), NULL, 0);
}

static bool authorized(const struct admin *a, struct evhttp_request *req)
{
    const char *v =
        evhttp_find_header(evhttp_request_get_input_headers(req), "Authorization");
    uint8_t theirs[32];

    if (!a->guarded)
        return true;
    if (v == NULL || strncasecmp(v, "Bearer ", 7) != 0)
        return false;
    hash(theirs, v + 7);
    return sodium_memcmp(theirs, a->bearer, sizeof(theirs)) == 0;
}

/* ---- answers ---- */

static void add(struct evhttp_request *req, const char *name, const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

static void add_headers(struct evhttp_request *req, const struct admin_ans *ans,
                        bool head)
{
    char len[24];

    if (ans->content_type != NULL)
        add(req, "Content-Type", ans->content_type);
    if (ans->etag != NULL)
        add(req, "ETag", ans->etag);
    if (ans->allow != NULL)
        add(req, "Allow", ans->allow);
    if (ans->location != NULL)
        add(req, "Location", ans->location);
    if (ans->status == 401)
        add(req, "WWW-Authenticate", "Bearer");
    if (ans->status == 429 || ans->status == 503)
        add(req, "Retry-After", "1");
    if (head) {
        snprintf(len, sizeof(len), "%zu", ans->body.len);
        add(req, "Content-Length", len);
    }
    add(req, "Cache-Control", "no-store");
    add(req, "X-Content-Type-Options", "nosniff");
    add(req, "Referrer-Policy", "no-referrer");
    add(req, "Content-Security-Policy", POLICY);
    add(req, "X-Request-Id", ans->request_id);
}

static void penalty_free(struct penalty *p)
{
    list_remove(&p->admin->penalties, &p->node);
    ev_timer_free(p->timer);
    free(p);
}

static void on_penalty_over(void *arg)
{
    struct penalty *p = arg;
    struct evhttp_request *req = p->req;
    int status = p->status;

    penalty_free(p);
    evhttp_send_reply(req, status, http_reason(status), NULL);
}

static bool delay(struct admin *a, struct evhttp_request *req, int status)
{
    struct penalty *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return false;
    *p = (struct penalty){ .admin = a, .req = req, .status = status };
    p->timer = ev_timer_new(a->ev, on_penalty_over, p);
    if (p->timer == NULL) {
        free(p);
        return false;
    }
    list_push_back(&a->penalties, &p->node);
    ev_timer_at(p->timer, ev_now(a->ev) + PENALTY_MS);
    return true;
}

static void reply(struct admin *a, struct evhttp_request *req, struct admin_ans *ans)
{
    bool head = evhttp_request_get_command(req) == EVHTTP_REQ_HEAD;

    if (ans->body.failed)
        admin_problem(ans, 503, "queue_unavailable", "out of memory");
    if (ans->status == 401 && a->penalties.n >= PENALTIES_MAX)
        admin_problem(ans, 503, "queue_unavailable", "too many wrong tokens at once");
    add_headers(req, ans, head);
    if (!head)
        evbuffer_add(evhttp_request_get_output_buffer(req), ans->body.data,
                     ans->body.len);
    if (ans->status == 401 && delay(a, req, ans->status))
        return;
    evhttp_send_reply(req, ans->status, http_reason(ans->status), NULL);
}

/* ---- answers that come later ---- */

struct admin_held *admin_hold(struct admin_ans *a)
{
    struct admin_held *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return NULL;
    h->admin = a->asked->admin;
    h->req = a->asked->req;
    a->asked->held = h;
    list_push_back(&h->admin->held, &h->node);
    return h;
}

/* The handler has filled *ans: it is the held one's from now on. */
static void held_take(struct admin_held *h, const struct admin_ans *ans)
{
    h->ans = *ans;
    h->ans.asked = NULL;
    if (ans->etag == ans->etag_buf)
        h->ans.etag = h->ans.etag_buf;
    if (ans->location == ans->location_buf)
        h->ans.location = h->ans.location_buf;
}

struct admin_ans *admin_held_ans(struct admin_held *h)
{
    return &h->ans;
}

static void held_free(struct admin_held *h)
{
    list_remove(&h->admin->held, &h->node);
    buf_fini(&h->ans.body);
    free(h);
}

void admin_send(struct admin_held *h)
{
    reply(h->admin, h->req, &h->ans);
    held_free(h);
}

/* ---- requests ---- */

static const char *method_name(struct evhttp_request *req)
{
    switch (evhttp_request_get_command(req)) {
    case EVHTTP_REQ_GET:
    case EVHTTP_REQ_HEAD:
        return "GET";
    case EVHTTP_REQ_POST:
        return "POST";
    case EVHTTP_REQ_PUT:
        return "PUT";
    case EVHTTP_REQ_DELETE:
        return "DELETE";
    case EVHTTP_REQ_PATCH:
        return "PATCH";
    default:
        return "OPTIONS";
    }
}

static const char *header(struct evhttp_request *req, const char *name)
{
    const char *v = evhttp_find_header(evhttp_request_get_input_headers(req), name);

    return v != NULL ? v : "";
}

static const char *from(struct evhttp_request *req)
{
    struct evhttp_connection *c = evhttp_request_get_connection(req);
    char *addr = NULL;
    ev_uint16_t port;

    if (c != NULL)
        evhttp_connection_get_peer(c, &addr, &port);
    return addr != NULL ? addr : "";
}

static void answer_metrics(struct admin *a, struct admin_ans *ans)
{
    ans->status = 200;
    ans->content_type = "text/plain; version=0.0.4; charset=utf-8";
    if (a->metrics != NULL)
        a->metrics(a->ctx, &ans->body);
}

static void answer_health(struct admin *a, struct admin_ans *ans)
{
    struct buf why;

    buf_init(&why);
    if (a->healthy == NULL || a->healthy(a->ctx, &why)) {
        ans->status = 200;
        ans->content_type = "application/json";
        buf_str(&ans->body, "{\"status\":\"ok\"}\n");
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

static void on_request(struct evhttp_request *req, void *arg)
{
    struct admin *a = arg;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *raw = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    const char *query = uri != NULL ? evhttp_uri_get_query(uri) : NULL;
    struct evbuffer *in = evhttp_request_get_input_buffer(req);
    struct admin_asked asked = { .admin = a, .req = req };
    struct admin_ans ans = { .status = 404, .asked = &asked };
    char path[PATH_BYTES];
    struct admin_req q = { .method = method_name(req),
                           .path = path,
                           .query = query != NULL ? query : "",
                           .if_match = header(req, "If-Match"),
                           .if_none_match = header(req, "If-None-Match"),
                           .operator_name = header(req, "X-Segq-Operator"),
                           .from = from(req),
                           .authorized = authorized(a, req),
                           .body_len = evbuffer_get_length(in) };

    snprintf(ans.request_id, sizeof(ans.request_id), "%08x%08x", randombytes_random(),
             randombytes_random());
    q.body = q.body_len != 0 ? evbuffer_pullup(in, -1) : NULL;
    if (q.body_len != 0 && q.body == NULL)
        admin_problem(&ans, 503, "queue_unavailable", "out of memory");
    else if (raw == NULL || *raw != '/' ||
             !admin_unescape(raw, strlen(raw), false, path, sizeof(path)))
        admin_problem(&ans, 400, "bad_request", "the path cannot be read");
    else
        route(a, &q, &ans);
    log_debug("request id=%s method=%s path=%s status=%d", ans.request_id, q.method,
              raw != NULL ? log_q(raw, strlen(raw)) : "?", ans.status);
    if (asked.held != NULL) {
        held_take(asked.held, &ans);
        return;
    }
    reply(a, req, &ans);
    buf_fini(&ans.body);
}

/* ---- life ---- */

const char *admin_addr(const struct admin *a)
{
    return a->addr;
}

static void limits(struct admin *a)
{
    evhttp_set_max_headers_size(a->http, HEADERS_BYTES);
    evhttp_set_max_body_size(a->http, BODY_BYTES);
    evhttp_set_timeout(a->http, TIMEOUT_S);
    evhttp_set_default_content_type(a->http, NULL);
    evhttp_set_allowed_methods(
        a->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                     EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS);
    evhttp_set_gencb(a->http, on_request, a);
}

/* No descriptors left: nobody is accepted for a moment, or the loop would spin. (evhttp
 * gives its listener an argument of its own, so we are not known here: see turn_end.) */
static void on_accept_error(struct evconnlistener *l, void *http)
{
    (void)http;
    (void)evconnlistener_disable(l);
}

/* Watching again what is watched costs nothing. */
static void turn_end(void *arg)
{
    struct admin *a = arg;

    if (ev_now(a->ev) - a->watched < RETRY_MS)
        return;
    a->watched = ev_now(a->ev);
    (void)evconnlistener_enable(a->listener); /* else in the next turn after RETRY_MS */
}

static int open_http(struct admin *a, const char *addr, struct err *e)
{
    struct evhttp_bound_socket *s;
    int fd;

    a->http = evhttp_new(ev_base(a->ev));
    if (a->http == NULL)
        return err_set(e, SQ_ENOMEM, "admin: out of memory");
    limits(a);
    fd = net_listen(addr, false, BACKLOG, e);
    if (fd < 0)
        return err_wrap(e, "admin");
    net_local_text(fd, a->addr);
    s = evhttp_accept_socket_with_handle(a->http, fd);
    if (s == NULL) {
        close(fd);
        return err_set(e, SQ_ENOMEM, "admin: out of memory");
    }
    a->listener = evhttp_bound_socket_get_listener(s);
    evconnlistener_set_error_cb(a->listener, on_accept_error);
    return ev_hook(a->ev, 0, turn_end, a) < 0
               ? err_set(e, SQ_ENOMEM, "admin: out of memory")
               : 0;
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
    a->guarded = o->bearer != NULL;
    list_init(&a->penalties);
    list_init(&a->held);
    if (a->guarded)
        hash(a->bearer, o->bearer);
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
    list_each(&a->penalties, it)
        penalty_free(container_of(it, struct penalty, node));
    list_each(&a->held, it)
        held_free(container_of(it, struct admin_held, node));
    ev_unhook(a->ev, turn_end, a);
    if (a->http != NULL)
        evhttp_free(a->http); /* also the requests whose answers are late */
    sodium_memzero(a->bearer, sizeof(a->bearer));
    free(a);
}
