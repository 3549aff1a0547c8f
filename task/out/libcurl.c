/* libcurl.c: options of libcurl, what it tells, its sockets and timers on our loop. */
#include "task/out/libcurl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/out/trust.h"

/* libcurl keeps deadlines, but not while a call waits for one of its connections: so much later a
 * call is ended without it. */
#define LATE_MS  100
#define CA_AGE_S (OUT_AGE_MAX_MS / 1000L) /* then a new file of the system's authorities counts: 40 ms to parse */

static struct out *out_of(const struct out_call *c)
{
    return c->target->out;
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* HTTP/2 has no first line: libcurl makes one up. */
static size_t made_up(const char *p, size_t n)
{
    return n > 6 && memcmp(p, "HTTP/2", 6) == 0 ? 6 : 0;
}

/* A line of the head, also of those of 1xx before it. Lines behind the body are passed over. */
static size_t on_line(char *p, size_t size, size_t count, void *arg)
{
    struct out_call *c = arg;
    struct libcurl_call *u = &c->curl;
    size_t n = size * count, skip = made_up(p, n);
    int64_t rc;

    if (u->answer.part != HTTP_ANSWER_HEAD)
        return n;
    if (skip > 0)
        buf_str(&u->head, "HTTP/1.1");
    buf_append(&u->head, p + skip, n - skip);
    if (buf_reserve(&u->head, HTTP_SLACK) == NULL)
        return 0;
    rc = http_answer_head(&u->answer, (char *)u->head.data, u->head.len);
    if (rc > 0)
        answer_head(c, &u->answer);
    if (rc > 0 && u->answer.part != HTTP_ANSWER_DONE && !c->answer.sized)
        answer_goes_on(c); /* else we see with its first bytes whether they are all */
    if (rc < 0)
        u->wrong = rc == -431 ? CALL_TOO_LONG : CALL_RESET;
    return rc < 0 ? 0 : n;
}

/* Refuses what the reader has no room for: libcurl keeps it, 16 KiB at most, and reads no more. */
static size_t on_body(char *p, size_t size, size_t count, void *arg)
{
    struct out_call *c = arg;
    size_t n = size * count;

    if (!c->answer.sized || n < c->answer.says)
        answer_goes_on(c);
    c->paused = n > answer_room(c, n);
    if (c->paused)
        return CURL_WRITEFUNC_PAUSE;
    return answer_body(c, p, n) ? n : 0;
}

void libcurl_go_on(struct out_call *c)
{
    (void)curl_easy_pause(c->curl.easy, CURLPAUSE_CONT); /* if it fails, the call does, by its deadline */
}

static bool is_tls(CURLcode rc)
{
    switch (rc) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
        return true;
    default:
        return false;
    }
}

static enum call_fault fault_of(const struct out_call *c, CURLcode rc)
{
    const struct libcurl_call *u = &c->curl;

    if (c->cut)
        return CALL_NONE;
    if (rc == CURLE_OK)
        return u->answer.part != HTTP_ANSWER_HEAD ? CALL_NONE : CALL_RESET;
    if (u->refused)
        return CALL_REFUSED;
    if (u->wrong != CALL_NONE)
        return u->wrong;
    if (u->unread || u->unwanted || u->no_room || u->head.failed || c->got.failed ||
        rc == CURLE_OUT_OF_MEMORY || rc == CURLE_FAILED_INIT)
        return CALL_LOCAL;
    if (is_tls(rc))
        return CALL_TLS;
    if (rc == CURLE_COULDNT_CONNECT)
        return CALL_CONNECT;
    if (rc != CURLE_OPERATION_TIMEDOUT)
        return CALL_RESET;
    return c->left ? CALL_TIMEOUT : u->opened ? CALL_CONNECT : CALL_LOCAL;
}

static const char *why_of(const struct libcurl_call *u, CURLcode rc, enum call_fault fault)
{
    if (u->wrong != CALL_NONE && u->answer.wrong != NULL)
        return u->answer.wrong;
    if (rc == CURLE_OPERATION_TIMEDOUT && fault == CALL_LOCAL)
        return "no connection became free before its deadline";
    return u->error[0] != 0 ? u->error : curl_easy_strerror(rc);
}

/* libcurl is done with it. */
static void ended(struct out_call *c, CURLcode rc)
{
    enum call_fault fault = fault_of(c, rc);
    struct libcurl_call *u = &c->curl;

    curl_multi_remove_handle(out_of(c)->multi, u->easy);
    out_call_leave(c);
    if (fault == CALL_NONE)
        answer_ends(c);
    else
        out_call_ends(c, fault, why_of(u, rc, fault));
}

void libcurl_drop(struct out_call *c)
{
    curl_multi_remove_handle(out_of(c)->multi, c->curl.easy);
}

/* ---- the way there ------------------------------------------------------------------------- */

/* Each connection passes here: the last word about its address. */
static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *s)
{
    struct out_call *c = arg;
    struct net_addr a = { .len = s->addrlen };
    int fd;

    (void)purpose;
    if (s->addrlen <= sizeof(a.in6))
        memcpy(&a.in6, &s->addr, s->addrlen);
    c->curl.refused = s->addrlen > sizeof(a.in6) || !address_may(c->target, &a);
    if (c->curl.refused)
        return CURL_SOCKET_BAD;
    fd = socket(s->family, s->socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, s->protocol);
    c->curl.opened = fd >= 0;
    c->curl.no_room = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    return fd;
}

static int on_send(void *arg, char *ip, char *local, int port, int local_port)
{
    struct out_call *c = arg;

    (void)ip;
    (void)local;
    (void)port;
    (void)local_port;
    if (c->left) /* a kept connection died under it */
        return CURL_PREREQFUNC_ABORT;
    c->left = c->may(c->arg);
    c->curl.unwanted = !c->left;
    return c->left ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static void set_way(struct out_call *c, const struct net_addr *a)
{
    const struct out_target *t = c->target;
    char addr[NET_TEXT_MAX], text[NET_TEXT_MAX + 16];

    net_text(a, addr);
    curl_easy_setopt(c->curl.easy, CURLOPT_NOPROXY, ""); /* and not the environment's */
    if (t->proxy.host[0] != 0) {
        snprintf(text, sizeof(text), "http://%s", addr);
        curl_easy_setopt(c->curl.easy, CURLOPT_PROXY, text);
        curl_easy_setopt(c->curl.easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
        return;
    }
    curl_easy_setopt(c->curl.easy, CURLOPT_PROXY, "");
    snprintf(text, sizeof(text), "::%s", addr);
    c->curl.connect_to = curl_slist_append(NULL, text);
    curl_easy_setopt(c->curl.easy, CURLOPT_CONNECT_TO, c->curl.connect_to);
}

static void late_by(struct out *o, msec_t when)
{
    if (when >= o->late_due)
        return;
    o->late_due = when;
    ev_timer_at(o->late_timer, when);
}

void libcurl_go(struct out_call *c, const struct net_addr *a)
{
    struct out *o = out_of(c);

    set_way(c, a);
    curl_easy_setopt(c->curl.easy, CURLOPT_TIMEOUT_MS, (long)(c->due - ev_now(o->ev)));
    if (curl_multi_add_handle(o->multi, c->curl.easy) != CURLM_OK)
        out_call_ends(c, CALL_LOCAL, "libcurl: no memory");
    else
        out_call_enter(c, PLACE_CLIENT);
    late_by(o, c->due + LATE_MS);
}

/* Ends the calls of a target that are late; returns when the next one will be. */
static msec_t end_late(struct out_target *t, msec_t now)
{
    list_each_of (&t->calls, struct out_call, in, c) {
        if (c->due + LATE_MS > now)
            return c->due + LATE_MS;
        ended(c, CURLE_OPERATION_TIMEDOUT);
    }
    return MSEC_NEVER;
}

/* ---- a request ----------------------------------------------------------------------------- */

/* libcurl takes "name: " as a field to be left out, and "name;" as one without a value. */
static bool add_field(struct out_call *c, const char *line, size_t n)
{
    char *copy = strdup(line);
    struct curl_slist *more;

    if (copy != NULL && n >= 2 && memcmp(copy + n - 2, ": ", 2) == 0)
        memcpy(copy + n - 2, ";", 2);
    more = copy != NULL ? curl_slist_append(c->curl.fields, copy) : NULL;
    free(copy);
    if (more != NULL)
        c->curl.fields = more;
    return more != NULL;
}

static bool add_fields(struct out_call *c, const struct out_request *q)
{
    /* Headers that libcurl would send by itself. */
    static const char *const not_said[] = { "Accept:", "Content-Type:", "Expect:" };
    bool ok = true;

    for (size_t at = 0; at < q->fields_n; at += strlen(q->fields + at) + 1)
        ok &= add_field(c, q->fields + at, strlen(q->fields + at));
    for (size_t i = 0; i < ARRAY_LEN(not_said); i++)
        ok &= add_field(c, not_said[i], strlen(not_said[i]));
    return ok;
}

static size_t on_read(char *p, size_t size, size_t count, void *arg)
{
    struct out_call *c = arg;
    ssize_t n = out_call_read(c, c->curl.sent, p, size * count);

    c->curl.sent += n > 0 ? (uint64_t)n : 0;
    c->curl.unread = n < 0;
    return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

/* A kept connection that died before a byte of it had left. */
static int on_seek(void *arg, curl_off_t at, int from)
{
    struct out_call *c = arg;

    if (from != SEEK_SET || at < 0 || (uint64_t)at > c->file_read)
        return CURL_SEEKFUNC_FAIL;
    c->curl.sent = (uint64_t)at;
    return CURL_SEEKFUNC_OK;
}

static void set_file(struct out_call *c)
{
    CURL *e = c->curl.easy;

    curl_easy_setopt(e, CURLOPT_POST, 1L);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->file.length);
    curl_easy_setopt(e, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(e, CURLOPT_READDATA, c);
    curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(e, CURLOPT_SEEKDATA, c);
}

static void set_method(struct out_call *c, const char *method)
{
    if (strcmp(method, "HEAD") == 0) { /* with a body libcurl would wait for the answer's, in vain */
        curl_easy_setopt(c->curl.easy, CURLOPT_NOBODY, 1L);
    } else if (c->file.length > 0) {
        set_file(c);
    } else if (out_call_has_body(c, method)) {
        curl_easy_setopt(c->curl.easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body.len);
        curl_easy_setopt(c->curl.easy, CURLOPT_POSTFIELDS,
                         c->body.len > 0 ? (const char *)c->body.data : "");
    }
    curl_easy_setopt(c->curl.easy, CURLOPT_CUSTOMREQUEST, method);
}

static bool set_url(struct out_call *c, const char *path)
{
    const struct url *u = &c->target->url;
    struct buf b;
    bool ok;

    buf_init(&b);
    buf_printf(&b, strchr(u->host, ':') != NULL ? "%s://[%s]:%u%s" : "%s://%s:%u%s",
               u->tls ? "https" : "http", u->host, u->port, u->path);
    buf_str(&b, path);
    buf_byte(&b, 0);
    ok = !b.failed && curl_easy_setopt(c->curl.easy, CURLOPT_URL, (const char *)b.data) == CURLE_OK;
    buf_fini(&b);
    return ok;
}

/* Not the name of a file, which libcurl would open in the loop. The target outlives its calls; a
 * connection has a copy, and is used again for the same text only. */
static void set_text(CURL *easy, CURLoption option, struct call_span text)
{
    struct curl_blob b = { .data = (void *)(uintptr_t)text.p, .len = text.n, .flags = CURL_BLOB_NOCOPY };

    if (text.n > 0)
        curl_easy_setopt(easy, option, &b);
}

static CURLcode on_tls(CURL *easy, void *ssl_ctx, void *arg)
{
    (void)easy;
    trust_give(ssl_ctx, arg);
    return CURLE_OK;
}

/* libcurl parses one certificate, by which it knows which connections it may use again. Its own folder of
 * authorities would be trusted beside them. */
static void set_authorities(CURL *easy, struct trust *t, struct call_span text)
{
    struct call_span key = { (const char *)t->key.data, t->key.len };

    if (text.n == 0)
        return;
    if (curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_tls) == CURLE_OK)
        text = key;
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, t);
    set_text(easy, CURLOPT_CAINFO_BLOB, text);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}

static void set_rules(struct out_call *c)
{
    const struct out_rules *r = &c->target->rules;
    CURL *e = c->curl.easy;

    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                     c->target->url.tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)r->connect_ms);
    curl_easy_setopt(e, CURLOPT_MAXLIFETIME_CONN, OUT_AGE_MAX_MS / 1000L);
    curl_easy_setopt(e, CURLOPT_CA_CACHE_TIMEOUT, CA_AGE_S);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
    set_authorities(e, &c->target->trust, r->ca);
    set_text(e, CURLOPT_SSLCERT_BLOB, r->cert);
    set_text(e, CURLOPT_SSLKEY_BLOB, r->key);
}

static void set_calls(struct out_call *c)
{
    CURL *e = c->curl.easy;

    curl_easy_setopt(e, CURLOPT_PRIVATE, c);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->curl.error);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->curl.fields);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_line);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, c);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_send);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, c);
}

bool libcurl_prepare(struct out_call *c, const struct out_request *q)
{
    c->curl.easy = curl_easy_init();
    if (c->curl.easy == NULL)
        return false;
    set_rules(c);
    if (!add_fields(c, q) || !set_url(c, q->path))
        return false;
    set_method(c, q->method);
    set_calls(c);
    return true;
}

/* ---- on our loop: the multi interface (libcurl's "hiperfifo" example, with our watchers) ------ */

static void look(struct out *o)
{
    const CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(o->multi, &left)) != NULL) {
        CURLcode rc = m->data.result;
        char *c;

        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
        ended((struct out_call *)(void *)c, rc);
    }
}

static void act(struct out *o, curl_socket_t fd, int what)
{
    int running;

    curl_multi_socket_action(o->multi, fd, what, &running);
    look(o);
}

struct watch {
    struct ev_io io;
    struct out *out; /* ref */
};

static void on_io(void *arg, unsigned what)
{
    const struct watch *w = arg;

    act(w->out, w->io.fd, (what & EV_IO_READ ? CURL_CSELECT_IN : 0) |
                              (what & EV_IO_WRITE ? CURL_CSELECT_OUT : 0)); /* may free w */
}

static struct watch *watch_new(struct out *o, curl_socket_t fd)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->out = o;
    ev_io_init(&w->io, o->ev, fd, on_io, w);
    curl_multi_assign(o->multi, fd, w);
    return w;
}

/* Without memory the call's deadline ends it. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *of_socket)
{
    struct watch *w = of_socket;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL)
            ev_io_end(&w->io);
        free(w);
        return 0;
    }
    if (w == NULL)
        w = watch_new(arg, fd);
    if (w != NULL)
        (void)!ev_io_set(&w->io, (what & CURL_POLL_IN ? EV_IO_READ : 0) |
                                     (what & CURL_POLL_OUT ? EV_IO_WRITE : 0));
    return 0;
}

static int on_timeout(CURLM *multi, long ms, void *arg)
{
    struct out *o = arg;

    (void)multi;
    ev_timer_at(o->timer, ms < 0 ? MSEC_NEVER : ev_now(o->ev) + ms + (ms > 0));
    return 0;
}

static void on_timer(void *arg)
{
    act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_late(void *arg)
{
    struct out *o = arg;
    msec_t now = ev_now(o->ev);

    o->late_due = MSEC_NEVER;
    list_each_of (&o->targets, struct out_target, in, t) {
        if (!t->plain)
            late_by(o, end_late(t, now));
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

bool libcurl_loop_init(struct out *o)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return false;
    o->multi = curl_multi_init();
    o->timer = ev_timer_new(o->ev, on_timer, o);
    o->late_timer = ev_timer_new(o->ev, on_late, o);
    o->late_due = MSEC_NEVER;
    if (o->multi == NULL || o->timer == NULL || o->late_timer == NULL) {
        libcurl_loop_fini(o);
        return false;
    }
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_MAXCONNECTS, (long)o->most_kept);
    curl_multi_setopt(o->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 1L);
    curl_multi_setopt(o->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)o->most_conns);
    return true;
}

void libcurl_loop_fini(struct out *o)
{
    curl_multi_cleanup(o->multi); /* closes what is kept, through on_socket() */
    ev_timer_free(o->timer);
    ev_timer_free(o->late_timer);
    curl_global_cleanup();
}
