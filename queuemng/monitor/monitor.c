/* monitor.c: one poller per metric.
 *
 *   timer at its interval -> /proc: read and report
 *                         -> HTTP: its name is asked for; a new connection, one GET;
 *                            answered | refused | deadline
 * A connection lives for one request: what hangs or drips is closed at the deadline and
 * cannot disturb the next one. evhttp must not be freed from its own callback: posted.
 * libevent's HTTP client is good enough for this (and for segqctl): with one request per
 * connection a lenient reading of the answer has nothing to get out of step with, sizes and
 * times are bounded here, and sys_monitor_hostile answers it in every wrong way. Servers
 * of ours use httpd. */
#define _GNU_SOURCE /* asprintf */
#include "queuemng/monitor/monitor.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/net/hosts.h"
#include "queuemng/monitor/proc.h"

#define LOG_MODULE "monitor"

#define BODY_MAX   (1u << 20)
#define HEAD_MAX   16384
#define LABELS_MAX 16

struct poller {
    struct monitor *m;           /* ref */
    const struct metric_def *d;  /* ref */
    struct ev_timer *timer;      /* next reading */
    struct ev_timer *deadline;   /* end of the reading under way */
    struct host_question *name;     /* name that it asks for; NULL = none */
    struct evhttp_connection *conn; /* connection of it; NULL = none */
    unsigned tries;                 /* another address of the name each time that one gives no answer */
    char *host, *target;         /* HTTP */
    uint16_t port;
    char *labels_text;           /* memory behind `labels` */
    struct sample_label labels[LABELS_MAX];
    size_t n_labels;
    struct mon_proc_state proc;
    struct mon_rate rate;
    msec_t due_ms, asked_ms, good_ms;
};

struct monitor {
    struct ev *ev;             /* ref */
    struct hosts hosts;
    struct monitor_calls calls;
    void *ctx;
    struct poller *v;
    size_t n;
    struct evhttp_connection *done[64]; /* to be freed at the end of this turn */
    size_t n_done;
    bool dead; /* freed while `done` was not empty: free_done() finishes it */
};

/* ---- results --------------------------------------------------------------------- */

static void reading(struct poller *p, double value, msec_t taken_ms)
{
    char why[80];

    if (p->d->counter_rate && mon_rate_step(&p->rate, value, taken_ms, &value) < 0)
        return;
    if (!isfinite(value) || value > p->d->max) {
        snprintf(why, sizeof(why), "%g is above its max %g", value, p->d->max);
        p->m->calls.on_failed(p->m->ctx, p->d->name, why);
        return;
    }
    p->good_ms = ev_now(p->m->ev);
    p->m->calls.on_reading(p->m->ctx, p->d->name, value, taken_ms);
}

/* at_once: something answered, but it makes no sense. */
static void failed(struct poller *p, bool at_once, const char *why)
{
    msec_t now = ev_now(p->m->ev);

    log_debug("event=poll_failed metric=%s why=%s", p->d->name, log_q(why, strlen(why)));
    if (at_once || p->good_ms == 0 || now - p->good_ms >= p->d->stale_ms)
        p->m->calls.on_failed(p->m->ctx, p->d->name, why);
}

/* ---- HTTP ------------------------------------------------------------------------ */

static void monitor_end(struct monitor *m)
{
    hosts_fini(&m->hosts);
    free(m->v);
    free(m);
}

static void free_done(void *arg)
{
    struct monitor *m = arg;

    for (size_t i = 0; i < m->n_done; i++)
        evhttp_connection_free(m->done[i]);
    m->n_done = 0;
    if (m->dead)
        monitor_end(m);
}

/* The request is over; from inside its callback. */
static void hang_up(struct poller *p)
{
    struct monitor *m = p->m;

    assert(p->conn != NULL);
    ev_timer_at(p->deadline, MSEC_NEVER);
    assert(m->n_done < ARRAY_LEN(m->done));
    if (m->n_done == 0)
        ev_post(m->ev, free_done, m);
    m->done[m->n_done++] = p->conn; /* at most one per poller and turn */
    p->conn = NULL;
}

static int parse(struct poller *p, const char *body, size_t n, struct sample_value *s,
                 struct err *e)
{
    struct sample_want w = { .name = p->d->query,
                          .labels = p->labels,
                          .n_labels = p->n_labels,
                          .max = p->d->several == METRIC_MAX };

    if (p->d->kind == METRIC_PROMETHEUS)
        return mon_parse_api(s, body, n, e);
    return sample_page_read(s, &w, body, n, e);
}

static void answered(struct poller *p, struct evhttp_request *req)
{
    struct evbuffer *in = evhttp_request_get_input_buffer(req);
    size_t n = evbuffer_get_length(in);
    const char *body = (const char *)evbuffer_pullup(in, -1);
    int status = evhttp_request_get_response_code(req);
    struct sample_value s = { 0 };
    struct err e = { 0 };
    int rc = parse(p, body != NULL ? body : "", body != NULL ? n : 0, &s, &e);
    msec_t taken = p->asked_ms;

    if (status != 200) {
        /* Prometheus explains a bad query in the body of its 400 */
        if (status / 100 == 4 && strstr(e.text, "status error") != NULL)
            err_wrap(&e, "HTTP %d", status);
        else
            err_set(&e, SQ_EINVAL, "HTTP %d", status);
        failed(p, false, e.text);
    } else if (rc < 0) {
        failed(p, true, e.text);
    } else {
        if (s.wall_ms != 0)
            taken = ev_now(p->m->ev) - (ev_wall_ms(p->m->ev) - s.wall_ms);
        reading(p, s.value, taken);
    }
}

static void on_answer(struct evhttp_request *req, void *arg)
{
    struct poller *p = arg;

    if (p->conn == NULL)
        return; /* over already */
    if (req == NULL || evhttp_request_get_response_code(req) == 0) {
        p->tries++;
        failed(p, false, "no answer: connection refused or broken, or the answer too big");
    } else {
        answered(p, req);
    }
    hang_up(p);
}

static void on_deadline(void *arg)
{
    struct poller *p = arg;
    struct evhttp_connection *conn = p->conn;

    if (p->name != NULL) {
        hosts_drop(p->name);
        p->name = NULL;
        failed(p, false, "no name server answered in time");
        return;
    }
    if (conn == NULL)
        return;
    p->conn = NULL;
    p->tries++;
    evhttp_connection_free(conn); /* a timer's turn: nobody above us holds it */
    failed(p, false, "no answer in time");
}

/* "name:port", also for the Host of a request. */
static void name_of(const struct poller *p, char *text, size_t cap)
{
    snprintf(text, cap, strchr(p->host, ':') != NULL ? "[%s]:%u" : "%s:%u", p->host, p->port);
}

static void get(struct poller *p, const struct net_addr *a)
{
    struct evhttp_request *req;
    char host[300], ip[NET_TEXT_MAX];

    assert(p->conn == NULL && p->host != NULL && p->target != NULL);
    net_ip_text(a, ip);
    p->conn = evhttp_connection_base_new(ev_base(p->m->ev), NULL, ip, p->port);
    req = p->conn != NULL ? evhttp_request_new(on_answer, p) : NULL;
    if (req == NULL) {
        if (p->conn != NULL)
            evhttp_connection_free(p->conn);
        p->conn = NULL;
        failed(p, false, "out of memory");
        return;
    }
    evhttp_connection_set_max_body_size(p->conn, BODY_MAX);
    evhttp_connection_set_max_headers_size(p->conn, HEAD_MAX);
    /* evhttp's bounds are per answer: of "100 Continue" without an end it takes one a turn,
     * and reads 16 KB in the same turn. A body of known length waits here as a whole. */
    bufferevent_setwatermark(evhttp_connection_get_bufferevent(p->conn), EV_READ, 0,
                             BODY_MAX + 2 * HEAD_MAX);
    name_of(p, host, sizeof(host));
    evhttp_add_header(evhttp_request_get_output_headers(req), "Host", host);
    evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
    if (evhttp_make_request(p->conn, req, EVHTTP_REQ_GET, p->target) < 0 && p->conn != NULL) {
        failed(p, false, "the request could not be sent");
        hang_up(p); /* req was freed by evhttp_make_request */
    }
}

static void on_name(void *arg, const struct host_answer *a)
{
    struct poller *p = arg;

    p->name = NULL;
    if (a->n > 0) {
        get(p, &a->addr[p->tries % a->n]);
        return;
    }
    ev_timer_at(p->deadline, MSEC_NEVER);
    failed(p, false, a->why);
}

static void ask(struct poller *p)
{
    char host[300];
    struct net_addr a;

    ev_timer_at(p->deadline, ev_now(p->m->ev) + p->d->timeout_ms);
    name_of(p, host, sizeof(host));
    if (net_parse(&a, host, NULL) == 0) {
        get(p, &a);
        return;
    }
    p->name = hosts_ask(&p->m->hosts, host, on_name, p);
    if (p->name == NULL)
        failed(p, false, "the name in its url cannot be asked for");
}

/* ---- pollers --------------------------------------------------------------------- */

static void read_proc(struct poller *p)
{
    struct err e = { 0 };
    double value = 0;
    int rc = mon_proc_read(&p->proc, p->d, p->asked_ms, &value, &e);

    if (rc == 0)
        reading(p, value, p->asked_ms);
    else if (rc != SQ_EBUSY)
        failed(p, false, e.text);
}

static void on_time(void *arg)
{
    struct poller *p = arg;
    msec_t now = ev_now(p->m->ev);

    p->due_ms = ms_max(p->due_ms + p->d->interval_ms, now + p->d->interval_ms / 2);
    ev_timer_at(p->timer, p->due_ms);
    if (p->conn != NULL || p->name != NULL)
        return; /* the last one is still under way, until its deadline */
    p->asked_ms = now;
    if (p->d->kind == METRIC_PROC)
        read_proc(p);
    else
        ask(p);
}

static int parse_url(struct poller *p, struct err *e)
{
    struct evhttp_uri *u = evhttp_uri_parse(p->d->url);
    const char *path = u != NULL ? evhttp_uri_get_path(u) : NULL;
    const char *host = u != NULL ? evhttp_uri_get_host(u) : NULL;
    const char *query = u != NULL ? evhttp_uri_get_query(u) : NULL;
    char *escaped = evhttp_uriencode(p->d->query, -1, 0);
    size_t n = host != NULL ? strlen(host) : 0;
    int port = u != NULL ? evhttp_uri_get_port(u) : -1, len = -1;

    if (n > 0 && n < 256 && escaped != NULL && path != NULL) {
        size_t cut = strlen(path);

        while (p->d->kind == METRIC_PROMETHEUS && cut > 0 && path[cut - 1] == '/')
            cut--;
        p->port = port > 0 ? (uint16_t)port : 80;
        p->host = host[0] == '[' ? strndup(host + 1, n - 2) : strdup(host);
        if (p->d->kind == METRIC_PROMETHEUS)
            len = asprintf(&p->target, "%.*s/api/v1/query?query=%s", (int)cut, path, escaped);
        else
            len = asprintf(&p->target, "%s%s%s", cut > 0 ? path : "/",
                           query != NULL ? "?" : "", query != NULL ? query : "");
    }
    if (len < 0)
        p->target = NULL;
    free(escaped);
    if (u != NULL)
        evhttp_uri_free(u);
    if (p->host == NULL || p->target == NULL)
        return err_set(e, SQ_EINVAL, "metric %s: url %.100s is not http://host:port/path",
                       p->d->name, p->d->url);
    return 0;
}

/* The definition in the form that is used. */
static int read_def(struct poller *p, struct err *e)
{
    int n;

    assert(p->labels_text == NULL && p->target == NULL);
    p->labels_text = strdup(p->d->labels);
    if (p->labels_text == NULL)
        return err_set(e, SQ_ENOMEM, "metric %s: out of memory", p->d->name);
    n = sample_labels(p->labels_text, p->labels, LABELS_MAX, e);
    if (n < 0)
        return err_wrap(e, "metric %s", p->d->name);
    p->n_labels = (size_t)n;
    return p->d->kind != METRIC_PROC ? parse_url(p, e) : 0;
}

static void forget_def(struct poller *p)
{
    free(p->host);
    free(p->target);
    free(p->labels_text);
}

int monitor_check(const struct metric_def *d, struct err *e)
{
    struct poller p = { .d = d };
    int rc = read_def(&p, e);

    forget_def(&p);
    return rc;
}

static int poller_init(struct poller *p, struct monitor *m, const struct metric_def *d,
                       struct err *e)
{
    int rc;

    p->m = m;
    p->d = d;
    p->timer = ev_timer_new(m->ev, on_time, p);
    p->deadline = ev_timer_new(m->ev, on_deadline, p);
    if (p->timer == NULL || p->deadline == NULL)
        return err_set(e, SQ_ENOMEM, "metric %s: out of memory", d->name);
    rc = read_def(p, e);
    if (rc < 0)
        return rc;
    p->due_ms = ev_now(m->ev);
    ev_timer_at(p->timer, p->due_ms);
    return 0;
}

int monitor_new(struct monitor **out, struct ev *ev, const struct metric_def *defs, size_t n,
                const struct monitor_calls *calls, void *ctx, struct err *e)
{
    struct monitor *m = calloc(1, sizeof(*m));
    int rc = 0;

    *out = NULL;
    if (m == NULL || n > ARRAY_LEN(m->done)) {
        free(m);
        return err_set(e, SQ_ENOMEM, "monitor");
    }
    m->ev = ev;
    m->calls = *calls;
    m->ctx = ctx;
    hosts_init(&m->hosts, ev);
    m->v = calloc(n + 1, sizeof(*m->v));
    if (m->v == NULL || ev_base(ev) == NULL)
        rc = err_set(e, SQ_ENOMEM, "monitor");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        m->n++;
        rc = poller_init(&m->v[i], m, &defs[i], e);
    }
    if (rc < 0)
        monitor_free(m);
    else
        *out = m;
    return rc;
}

void monitor_free(struct monitor *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n; i++) {
        struct poller *p = &m->v[i];

        if (p->name != NULL)
            hosts_drop(p->name);
        if (p->conn != NULL)
            evhttp_connection_free(p->conn);
        if (p->timer != NULL)
            ev_timer_free(p->timer);
        if (p->deadline != NULL)
            ev_timer_free(p->deadline);
        mon_proc_fini(&p->proc);
        forget_def(p);
    }
    m->dead = m->n_done > 0;
    if (!m->dead)
        monitor_end(m);
}
