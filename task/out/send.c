/* send.c: options of libcurl, and what it tells. */
#include "task/out/send.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/text.h"
#include "task/out/address.h"

#define HEAD_BYTES_MAX 65536u /* of an answer */
#define AGE_MAX_S      300L   /* of a connection */

static struct out *out_of(const struct out_call *c)
{
    return c->target->out;
}

static struct list *list_of(struct out_call *c)
{
    struct out_target *t = c->target;

    return c->place == PLACE_CURL ? &t->calls : c->place == PLACE_NAME ? &t->waiting : &t->out->ending;
}

static void enter(struct out_call *c, enum out_place place)
{
    c->place = (uint8_t)place;
    list_push_back(list_of(c), &c->in);
}

static void leave(struct out_call *c)
{
    list_remove(list_of(c), &c->in);
}

/* ---- the answer's head --------------------------------------------------------------------- */

static void set_text(char *to, size_t cap, const char *p, size_t n)
{
    bool ok = n < cap;

    for (size_t i = 0; i < n; i++)
        ok &= p[i] >= ' ' && p[i] <= '~';
    memcpy(to, p, ok ? n : 0);
    to[ok ? n : 0] = 0;
}

static void on_field(struct call_answer *a, const char *p, size_t name_n, const char *v, size_t n)
{
#define IS(lit) (name_n == sizeof(lit) - 1 && strncasecmp(p, lit, name_n) == 0)
    if (IS("content-type"))
        set_text(a->type, sizeof(a->type), v, n);
    else if (IS("retry-after"))
        set_text(a->retry_after, sizeof(a->retry_after), v, n);
    else if (IS("segq-command"))
        set_text(a->command, sizeof(a->command), v, n);
    else if (IS("webhook-delivery"))
        set_text(a->delivery, sizeof(a->delivery), v, n);
    else if (IS("upstash-nonretryable-error"))
        set_text(a->upstash, sizeof(a->upstash), v, n);
#undef IS
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A line of the head; a status line begins it anew (1xx came before). Lines behind the body are
 * passed over. */
static size_t on_line(char *p, size_t size, size_t count, void *arg)
{
    struct out_call *c = arg;
    size_t n = size * count, all = n;
    const char *colon = memchr(p, ':', n), *v;

    c->head_bytes += (uint32_t)n;
    c->too_long |= c->head_bytes > HEAD_BYTES_MAX;
    if (c->too_long)
        return 0;
    if (c->body_begun)
        return all;
    if (n >= 5 && memcmp(p, "HTTP/", 5) == 0)
        c->answer = (struct call_answer){ 0 };
    if (colon == NULL)
        return all;
    v = colon + 1;
    while (n > 0 && is_blank(p[n - 1]))
        n--;
    while (v < p + n && is_blank(*v))
        v++;
    on_field(&c->answer, p, (size_t)(colon - p), v, v < p + n ? (size_t)(p + n - v) : 0);
    return all;
}

static size_t on_body(char *p, size_t size, size_t count, void *arg)
{
    struct out_call *c = arg;
    struct call_answer *a = &c->answer;
    size_t n = size * count, kept = u64_min(n, c->keep - c->got.len);

    c->body_begun = true;
    buf_append(&c->got, p, kept);
    if (n > kept && a->length == c->got.len - kept) { /* the first that is more than is kept */
        crypto_hash_sha256_init(&c->hash);
        crypto_hash_sha256_update(&c->hash, c->got.data, c->got.len);
    }
    if (n > kept)
        crypto_hash_sha256_update(&c->hash, (const uint8_t *)p + kept, n - kept);
    a->length += n;
    c->too_long = a->length > OUT_BODY_MAX;
    return c->too_long || c->got.failed ? 0 : n;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void call_free(struct out_call *c)
{
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->fields);
    curl_slist_free_all(c->connect_to);
    buf_fini(&c->body);
    buf_fini(&c->got);
    free(c);
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
    if (rc == CURLE_OK)
        return CALL_NONE;
    if (c->refused)
        return CALL_REFUSED;
    if (c->too_long)
        return CALL_TOO_LONG;
    if (c->unwanted || c->no_room || c->got.failed || rc == CURLE_OUT_OF_MEMORY ||
        rc == CURLE_FAILED_INIT)
        return CALL_LOCAL;
    if (is_tls(rc))
        return CALL_TLS;
    if (rc == CURLE_COULDNT_CONNECT)
        return CALL_CONNECT;
    if (rc != CURLE_OPERATION_TIMEDOUT)
        return CALL_RESET;
    return c->sends > 0 ? CALL_TIMEOUT : CALL_CONNECT;
}

static void tell(struct out_call *c)
{
    struct call_answer *a = &c->answer;

    a->ms = (uint32_t)(ev_now(out_of(c)->ev) - c->began);
    if (a->fault == CALL_CONNECT)
        address_failed(c->target);
    if (a->fault == CALL_NONE) {
        a->body = c->got.data;
        a->n = (uint32_t)c->got.len;
    }
    c->fn(c->arg, a);
    call_free(c);
}

void send_ended(struct out_call *c, CURLcode rc)
{
    struct call_answer *a = &c->answer;
    long status = 0;

    curl_multi_remove_handle(out_of(c)->multi, c->easy);
    leave(c);
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    a->fault = fault_of(c, rc);
    if (a->fault == CALL_NONE && (status < 100 || status > 999))
        a->fault = CALL_RESET;
    a->status = a->fault == CALL_NONE ? (unsigned)status : 0;
    if (a->fault != CALL_NONE)
        copy_text(a->why, sizeof(a->why), c->error[0] != 0 ? c->error : curl_easy_strerror(rc));
    else if (a->length > c->got.len)
        crypto_hash_sha256_final(&c->hash, a->sha256);
    tell(c);
}

/* It is in no list. */
static void end_later(struct out_call *c, enum call_fault fault, const char *why)
{
    struct out *o = out_of(c);

    c->answer.fault = fault;
    copy_text(c->answer.why, sizeof(c->answer.why), why);
    enter(c, PLACE_ENDING);
    if (!o->posted)
        ev_post(o->ev, send_run_ending, o);
    o->posted = true;
}

void send_run_ending(void *arg)
{
    struct out *o = arg;
    struct list_node *n;

    o->posted = false;
    for (size_t left = o->ending.n; left > 0 && (n = list_first(&o->ending)) != NULL; left--) {
        struct out_call *c = container_of(n, struct out_call, in);

        leave(c);
        tell(c);
    }
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
    c->refused = s->addrlen > sizeof(a.in6) || !address_may(c->target, &a);
    if (c->refused)
        return CURL_SOCKET_BAD;
    fd = socket(s->family, s->socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, s->protocol);
    c->no_room = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    return fd;
}

static int on_send(void *arg, char *ip, char *local, int port, int local_port)
{
    struct out_call *c = arg;

    (void)ip;
    (void)local;
    (void)port;
    (void)local_port;
    c->unwanted = !c->may(c->arg);
    return c->sends++ == 0 && !c->unwanted ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static void set_way(struct out_call *c, const struct net_addr *a)
{
    const struct out_target *t = c->target;
    char addr[NET_TEXT_MAX], text[NET_TEXT_MAX + 16];

    net_text(a, addr);
    curl_easy_setopt(c->easy, CURLOPT_NOPROXY, ""); /* and not the environment's */
    if (t->proxy.host[0] != 0) {
        snprintf(text, sizeof(text), "http://%s", addr);
        curl_easy_setopt(c->easy, CURLOPT_PROXY, text);
        curl_easy_setopt(c->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
        return;
    }
    curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
    snprintf(text, sizeof(text), "::%s", addr);
    c->connect_to = curl_slist_append(NULL, text);
    curl_easy_setopt(c->easy, CURLOPT_CONNECT_TO, c->connect_to);
}

static void go(struct out_call *c, const struct net_addr *a)
{
    struct out *o = out_of(c);
    msec_t left = c->began + c->deadline_ms - ev_now(o->ev);

    if (left <= 0) {
        end_later(c, CALL_TIMEOUT, "the deadline was over before its name was known");
        return;
    }
    set_way(c, a);
    curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)left);
    if (curl_multi_add_handle(o->multi, c->easy) != CURLM_OK)
        end_later(c, CALL_LOCAL, "libcurl: no memory");
    else
        enter(c, PLACE_CURL);
}

static void on_name(void *arg, const struct host_answer *a)
{
    struct out_target *t = arg;

    address_told(t, a);
    send_waiting(t);
}

static void find_way(struct out_call *c)
{
    struct net_addr a;

    switch (address_of(c->target, &a, on_name)) {
    case ADDRESS_KNOWN:
        go(c, &a);
        return;
    case ADDRESS_ASKED:
        enter(c, PLACE_NAME);
        return;
    case ADDRESS_REFUSED:
        end_later(c, CALL_REFUSED, "its address is not public, and not in `allow`");
        return;
    default:
        end_later(c, CALL_DNS, "the name cannot be asked");
        return;
    }
}

void send_waiting(struct out_target *t)
{
    struct list_node *n;

    while ((n = list_first(&t->waiting)) != NULL) {
        struct out_call *c = container_of(n, struct out_call, in);

        leave(c);
        if (t->known.n == 0)
            end_later(c, CALL_DNS, t->known.why);
        else
            find_way(c);
    }
}

/* ---- a request ----------------------------------------------------------------------------- */

/* libcurl takes "name: " as a field to be left out, and "name;" as one without a value. */
static bool add_field(struct out_call *c, const char *line, size_t n)
{
    char *copy = strdup(line);
    struct curl_slist *more;

    if (copy != NULL && n >= 2 && memcmp(copy + n - 2, ": ", 2) == 0)
        memcpy(copy + n - 2, ";", 2);
    more = copy != NULL ? curl_slist_append(c->fields, copy) : NULL;
    free(copy);
    if (more != NULL)
        c->fields = more;
    return more != NULL;
}

static bool add_fields(struct out_call *c, const struct out_request *q)
{
    /* What libcurl would say by itself. */
    static const char *const not_said[] = { "Accept:", "Content-Type:", "Expect:" };
    bool ok = true;

    for (size_t at = 0; at < q->fields_n; at += strlen(q->fields + at) + 1)
        ok &= add_field(c, q->fields + at, strlen(q->fields + at));
    for (size_t i = 0; i < ARRAY_LEN(not_said); i++)
        ok &= add_field(c, not_said[i], strlen(not_said[i]));
    return ok;
}

static bool has_body(const struct out_call *c, const char *method)
{
    return c->body.len > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
           strcmp(method, "PATCH") == 0;
}

static void set_method(struct out_call *c, const char *method)
{
    if (strcmp(method, "HEAD") == 0) { /* with a body libcurl would wait for the answer's, in vain */
        curl_easy_setopt(c->easy, CURLOPT_NOBODY, 1L);
    } else if (has_body(c, method)) {
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body.len);
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS,
                         c->body.len > 0 ? (const char *)c->body.data : "");
    }
    curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, method);
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
    ok = !b.failed && curl_easy_setopt(c->easy, CURLOPT_URL, (const char *)b.data) == CURLE_OK;
    buf_fini(&b);
    return ok;
}

/* libcurl's own folder of authorities would be trusted beside them. */
static void set_authorities(CURL *easy, const char *path)
{
    if (path[0] == 0)
        return;
    curl_easy_setopt(easy, CURLOPT_CAINFO, path);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}

static void set_file(CURL *easy, CURLoption option, const char *path)
{
    if (path[0] != 0)
        curl_easy_setopt(easy, option, path);
}

static void set_rules(struct out_call *c)
{
    const struct out_rules *r = &c->target->rules;
    CURL *e = c->easy;

    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                     c->target->url.tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)r->connect_ms);
    curl_easy_setopt(e, CURLOPT_MAXLIFETIME_CONN, AGE_MAX_S);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
    set_authorities(e, r->ca_file);
    set_file(e, CURLOPT_SSLCERT, r->cert_file);
    set_file(e, CURLOPT_SSLKEY, r->key_file);
}

static void set_calls(struct out_call *c)
{
    CURL *e = c->easy;

    curl_easy_setopt(e, CURLOPT_PRIVATE, c);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->error);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->fields);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_line);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, c);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_send);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, c);
}

struct out_call *out_send(struct out_target *t, const struct out_request *q, out_fn fn, void *arg)
{
    struct out_call *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    *c = (struct out_call){ .target = t, .fn = fn, .may = q->may, .arg = arg, .keep = q->keep,
                            .deadline_ms = q->deadline_ms, .began = ev_now(t->out->ev) };
    buf_init(&c->body);
    buf_init(&c->got);
    c->easy = curl_easy_init();
    if (c->easy != NULL) {
        c->body = *q->body;
        buf_init(q->body);
        set_rules(c);
    }
    if (c->easy == NULL || !add_fields(c, q) || !set_url(c, q->path)) {
        call_free(c);
        return NULL;
    }
    set_method(c, q->method);
    set_calls(c);
    find_way(c);
    return c;
}

void out_cancel(struct out_call *c)
{
    struct out_target *t = c->target;

    if (c->place == PLACE_CURL)
        curl_multi_remove_handle(t->out->multi, c->easy);
    leave(c);
    call_free(c);
}
