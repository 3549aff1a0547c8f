/* out_call.c: those that are over are kept for the next ones, with their buffers. */
#include "task/out/out_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/net/net.h"
#include "common/task/call.h"
#include "task/calls/told.h"
#include "task/out/trust.h"

/* ---- conn --------------------------------------------------------------------------------- */

/* See the header. */

static void enter(struct conn *cn, enum conn_state state)
{
    struct out_target *t = cn->target;

    cn->state = (uint8_t)state;
    cn->since = ev_now(t->out->ev);
    if (state != CONN_BUSY)
        list_push_back(state == CONN_KEPT ? &t->kept : &t->opening, &cn->in);
    if (state == CONN_KEPT)
        list_push_back(&t->out->kept, &cn->of_all);
}

static void leave(struct conn *cn)
{
    struct out_target *t = cn->target;

    if (cn->state != CONN_BUSY)
        list_remove(cn->state == CONN_KEPT ? &t->kept : &t->opening, &cn->in);
    if (cn->state == CONN_KEPT)
        list_remove(&t->out->kept, &cn->of_all);
}

static bool is_old(const struct conn *cn)
{
    return ev_now(cn->target->out->ev) - cn->born >= OUT_AGE_MAX_MS;
}

static bool are_many(const struct out *o)
{
    return o->kept.n >= o->most_kept && o->crowded.n == 0;
}

/* Nothing has come: neither its end, nor bytes that nobody asked for. */
static bool is_well(const struct conn *cn)
{
    char c;

    return recv(cn->io.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool is_same(const struct net_addr *a, const struct net_addr *b)
{
    return a->len == b->len && memcmp(&a->sa, &b->sa, a->len) == 0;
}

struct conn *conn_kept(struct out_target *t, const struct net_addr *a)
{
    struct list_node *n = list_last(&t->kept), *before;

    for (; n != NULL; n = before) {
        struct conn *cn = container_of(n, struct conn, in);

        before = list_prev(&t->kept, n);
        if (is_old(cn)) {
            conn_close(cn);
        } else if (is_same(&cn->addr, a)) {
            if (is_well(cn)) {
                leave(cn);
                enter(cn, CONN_BUSY);
                return cn;
            }
            conn_close(cn);
        }
    }
    return NULL;
}

int conn_open(struct conn **out, struct out_target *t, const struct net_addr *a, ev_io_fn fn,
              struct err *e)
{
    struct conn *cn;
    int fd;

    if (!address_may(t, a)) /* the last word about it */
        return SQ_EINVAL;
    cn = calloc(1, sizeof(*cn));
    fd = cn != NULL ? net_connect(a, e) : SQ_EFULL;
    if (fd < 0) {
        free(cn);
        return fd;
    }
    *cn = (struct conn){ .target = t, .addr = *a, .born = ev_now(t->out->ev) };
    ev_io_init(&cn->io, t->out->ev, fd, fn, cn);
    buf_init(&cn->rest);
    t->out->n_conns++;
    enter(cn, CONN_OPENING);
    if (ev_io_set(&cn->io, EV_IO_WRITE) < 0) {
        conn_close(cn);
        return SQ_EFULL;
    }
    *out = cn;
    return 0;
}

void conn_opened(struct conn *cn)
{
    leave(cn);
    enter(cn, CONN_BUSY);
}

void conn_keep(struct conn *cn)
{
    if (is_old(cn) || are_many(cn->target->out) || ev_io_set(&cn->io, EV_IO_READ) < 0) {
        conn_close(cn);
        return;
    }
    cn->call = NULL;
    cn->used = true;
    enter(cn, CONN_KEPT);
}

void conn_close(struct conn *cn)
{
    leave(cn);
    cn->target->out->n_conns--;
    ev_io_end(&cn->io);
    close(cn->io.fd);
    buf_fini(&cn->rest);
    free(cn);
}

bool conn_close_one(struct out *o)
{
    struct list_node *n = list_first(&o->kept);

    if (n != NULL)
        conn_close(container_of(n, struct conn, of_all));
    return n != NULL;
}

#define SPARE_MAX  256
#define BUFFER_MAX 4096 /* bytes of a buffer that is kept */

static struct list *list_of(struct out_call *c)
{
    struct out_target *t = c->target;

    return c->place == PLACE_CLIENT ? &t->calls : c->place == PLACE_NAME ? &t->waiting : &t->out->ending;
}

/* Keeps calls with a client in the order of their deadlines. A target's calls have one deadline, so the walk
 * ends at once; by requests of many deadlines it is as long as the target has calls (max_concurrent). */
void out_call_enter(struct out_call *c, enum out_place place)
{
    struct list *l;
    struct list_node *before;

    c->place = (uint8_t)place;
    l = list_of(c);
    before = l->head.prev;
    while (place == PLACE_CLIENT && before != &l->head && container_of(before, struct out_call, in)->due > c->due)
        before = before->prev;
    list_insert_after(l, before, &c->in);
}

void out_call_leave(struct out_call *c)
{
    list_remove(list_of(c), &c->in);
}

struct out_call *out_call_new(struct out *o)
{
    struct list_node *n = list_first(&o->spare);
    struct out_call *c;

    if (n == NULL)
        return calloc(1, sizeof(*c));
    list_remove(&o->spare, n);
    c = container_of(n, struct out_call, in);
    *c = (struct out_call){ .head = c->head, .body = c->body, .got = c->got,
                            .fields = c->fields };
    return c;
}

static void tidy(struct buf *b, bool all)
{
    if (all || b->cap > BUFFER_MAX) {
        buf_fini(b);
        buf_init(b);
    }
    buf_reset(b);
}

static void libcurl_free(struct libcurl_call *u)
{
    if (u->easy == NULL)
        return;
    curl_easy_cleanup(u->easy);
    curl_slist_free_all(u->fields);
    curl_slist_free_all(u->connect_to);
    buf_fini(&u->head);
}

void out_call_free(struct out *o, struct out_call *c)
{
    bool is_spare = o->spare.n < SPARE_MAX;

    libcurl_free(&c->curl);
    sha256_drop(&c->hash);
    sha256_drop(&c->file_hash);
    if (c->file.length > 0)
        close(c->file.fd);
    tidy(&c->head, !is_spare);
    tidy(&c->body, !is_spare);
    tidy(&c->got, !is_spare);
    tidy(&c->fields, !is_spare);
    if (is_spare)
        list_push_front(&o->spare, &c->in);
    else
        free(c);
}

void out_call_free_spare(struct out *o)
{
    list_each_of (&o->spare, struct out_call, in, c) {
        list_remove(&o->spare, &c->in);
        tidy(&c->head, true);
        tidy(&c->body, true);
        tidy(&c->got, true);
        tidy(&c->fields, true);
        free(c);
    }
}

/* A piece that the target did not take whole is read again. */
ssize_t out_call_read(struct out_call *c, uint64_t at, void *p, size_t n)
{
    uint8_t sum[SHA256_BYTES];
    ssize_t k;

    n = u64_min(n, c->file.length - at);
    do {
        k = pread(c->file.fd, p, n, (off_t)at);
    } while (k < 0 && errno == EINTR);
    c->file_bad |= k != (ssize_t)n || at > c->file_read || (c->file_hash.ctx == NULL && !sha256_begin(&c->file_hash));
    if (c->file_bad)
        return -1;
    if (at + n > c->file_read) {
        sha256_add(&c->file_hash, (const char *)p + (c->file_read - at), at + n - c->file_read);
        c->file_read = at + n;
        if (c->file_read == c->file.length) {
            sha256_end(&c->file_hash, sum);
            c->file_bad = memcmp(sum, c->file.sha256, sizeof(sum)) != 0;
        }
    }
    return c->file_bad ? -1 : k;
}

bool out_call_has_body(const struct out_call *c, const char *method)
{
    return out_call_body(c) > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
           strcmp(method, "PATCH") == 0;
}

static void tell(struct out_call *c)
{
    struct call_answer *a = &c->answer;

    if (a->fault == CALL_NONE) {
        a->body = c->got.data;
        a->n = (uint32_t)c->got.len;
    } else {
        a->status = 0;
    }
    c->fn(c->arg, a);
}

static void run_ending(void *arg)
{
    struct out *o = arg;
    struct list_node *n;

    o->posted = false;
    for (size_t left = o->ending.n; left > 0 && (n = list_first(&o->ending)) != NULL; left--) {
        struct out_call *c = container_of(n, struct out_call, in);

        out_call_leave(c);
        tell(c); /* the target may go */
        out_call_free(o, c);
    }
}

/* Once it has left, no fault says that nothing was sent: that would cost no attempt. */
static enum call_fault fault_of(const struct out_call *c, enum call_fault f)
{
    if (c->file_bad && f == CALL_LOCAL)
        return CALL_BODY;
    return !c->left || f == CALL_NONE || f == CALL_TIMEOUT || f == CALL_TOO_LONG ? f : CALL_RESET;
}

void out_call_ends(struct out_call *c, enum call_fault fault, const char *why)
{
    struct out *o = c->target->out;

    c->answer.fault = fault_of(c, fault);
    c->answer.ms = (uint32_t)(ev_now(o->ev) - c->began);
    if (fault == CALL_CONNECT)
        address_failed(c->target);
    if (fault != CALL_NONE)
        copy_text(c->answer.why, sizeof(c->answer.why), why);
    out_call_enter(c, PLACE_ENDING);
    if (!o->posted)
        ev_post(o->ev, run_ending, o);
    o->posted = true;
}

/* ---- an answer, whoever the client is ---------------------------------------------- */

#define FIELD_ROOM 4 /* bytes beside a field's name and value: their lengths */

static void set_text(char *to, size_t cap, struct slice v)
{
    bool ok = v.n < cap;

    for (size_t i = 0; i < v.n; i++)
        ok &= v.p[i] >= ' ' && v.p[i] <= '~';
    memcpy(to, v.p, ok ? v.n : 0);
    to[ok ? v.n : 0] = 0;
}

static void on_field(const struct out_call *c, struct call_answer *a, struct slice name, struct slice v)
{
    const char *rows = c->target->told;
    unsigned told = rows[0] != 0 ? told_field(rows, name.p, name.n) : 0;
    size_t n = strlen(c->used_header);

    for (unsigned i = 0; told >> i != 0; i++)
        if ((told >> i & 1) != 0)
            set_text(a->told[i], sizeof(a->told[i]), v);
    if (n > 0 && name.n == n && strncasecmp(name.p, c->used_header, n) == 0)
        set_text(a->used, sizeof(a->used), v);
#define SAYS(lit, member)                                                                \
    if (name.n == sizeof(lit) - 1 && http_ieq(name.p, lit, sizeof(lit) - 1))             \
    set_text(a->member, sizeof(a->member), v)

    SAYS("content-type", type);
    else SAYS("retry-after", retry_after);
    else SAYS("segq-command", command);
    else SAYS("webhook-delivery", delivery);
    else SAYS("upstash-nonretryable-error", upstash);
#undef SAYS
}

static bool is_passed_too(const struct out *o, struct slice name)
{
    const char *p = (const char *)o->pass.data, *end = p + o->pass.len;

    for (; p < end; p += strlen(p) + 1)
        if (strlen(p) == name.n && call_header_is(name.p, p, name.n))
            return true;
    return false;
}

static void keep_field(struct out_call *c, const struct http_answer *a, struct slice name,
                       struct slice v)
{
    struct call_span n = { name.p, name.n }, value = { v.p, v.n };

    if ((!reply_field_kept(name.p, name.n) && !is_passed_too(c->target->out, name)) || http_connection_names(a->fields, name))
        return;
    if (c->fields.len + FIELD_ROOM + name.n + v.n > REPLY_FIELDS_MAX ||
        call_header_wrong(name.p, name.n, v.p, v.n) != NULL)
        c->answer.fields_cut = true;
    else
        call_pack_header(&c->fields, n, value);
}

void answer_head(struct out_call *c, const struct http_answer *a)
{
    struct slice rest = a->fields, name, value;

    c->answer = (struct call_answer){ .status = a->status };
    buf_reset(&c->fields); /* fields of a head before it */
    while (http_next_field(&rest, &name, &value)) {
        on_field(c, &c->answer, name, value);
        keep_field(c, a, name, value);
    }
    if (c->fields.failed) { /* an answer without them is better than none */
        buf_reset(&c->fields);
        c->answer.fields_cut = true;
    }
    c->answer.fields = (struct call_span){ (const char *)c->fields.data, c->fields.len };
    c->answer.sized = a->part == HTTP_ANSWER_SIZED;
    c->answer.says = c->answer.sized ? a->left : 0;
}

void answer_goes_on(struct out_call *c)
{
    if (c->reader != NULL && !c->begun)
        c->reader->head(c->arg, &c->answer);
    c->begun = true;
}

uint32_t answer_room(const struct out_call *c, size_t n)
{
    return c->reader != NULL ? c->reader->room(c->arg, n) : OUT_ANY;
}

const struct call_answer *out_so_far(struct out_call *c)
{
    struct call_answer *a = &c->answer;

    if (a->length > c->got.len)
        return NULL;
    a->body = c->got.data;
    a->n = (uint32_t)c->got.len;
    return a;
}

const struct call_answer *out_head(const struct out_call *c)
{
    return c->begun ? &c->answer : NULL;
}

const uint8_t *out_first(const struct out_call *c, size_t *n)
{
    *n = c->got.len;
    return c->got.data;
}

/* Bytes of an answer that is longer than is kept. */
static void hear_more(struct out_call *c, const uint8_t *p, size_t n)
{
    sha256_add(&c->hash, p, n);
    if (c->long_one != NULL)
        c->long_one(c->arg, p, n);
}

bool answer_body(struct out_call *c, const void *p, size_t n)
{
    struct call_answer *a = &c->answer;
    size_t kept;

    if (a->length + n > OUT_BODY_MAX && answer_room(c, n) == OUT_ANY) {
        n = a->length < OUT_BODY_MAX ? OUT_BODY_MAX - a->length : 0;
        c->cut = a->goes_on = true;
    }
    if (c->hear != NULL && n > 0)
        c->hear(c->arg, a, p, n);
    if (c->reader != NULL && n > 0)
        c->reader->more(c->arg, p, n);
    kept = u64_min(n, c->keep - c->got.len);
    buf_append(&c->got, p, kept);
    if (n > kept && !c->got.failed) {
        if (a->length == c->got.len - kept) { /* the first that is more than is kept */
            if (!sha256_begin(&c->hash)) {
                c->got.failed = true;
                return false;
            }
            hear_more(c, c->got.data, c->got.len);
        }
        hear_more(c, (const uint8_t *)p + kept, n - kept);
    }
    a->length += n;
    return !c->cut && !c->got.failed;
}

void answer_ends(struct out_call *c)
{
    if (c->answer.length > c->got.len && !c->got.failed)
        sha256_end(&c->hash, c->answer.sha256);
    out_call_ends(c, c->got.failed ? CALL_LOCAL : CALL_NONE, "no memory");
}
