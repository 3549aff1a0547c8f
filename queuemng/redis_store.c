/* redis_store.c: see the header. */
#include "queuemng/redis_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "queuemng/redis_scripts.h"

#define LOG_MODULE "redis"
#define ASKED_MAX  32
#define AGAIN_MS   100 /* a write that failed is sent again */

struct write { /* keys and values, each with its 0; a deleted key has no value */
    struct buf text;
    struct {
        size_t key, val; /* offsets; val 0: delete */
    } *v;
    size_t n, cap, n_puts;
    bool whole; /* in place of everything that is there */
    uint64_t serial;
    msec_t since_ms;
    int64_t sent_us;
};

struct redis_store {
    struct store store;
    struct ev *ev; /* ref */
    struct redis_store_calls calls;
    void *ctx;
    struct redis_link *link;
    struct ev_timer *again;
    char lease[96], head[96], kv[96]; /* keys */
    char owner[64], info[400];
    uint32_t ttl_ms, wait_replicas, answer_ms;
    uint64_t asked[ASKED_MAX]; /* lease questions that are open, oldest first: a ring */
    unsigned first_asked, n_asked;
    struct pairs mirror;
    uint64_t rev;        /* of the last batch known to be kept, or loaded */
    bool has_rev, dirty; /* dirty: the mirror has more than was acknowledged */
    uint64_t epoch;      /* we write under; 0 = not */
    uint64_t issued, done;
    struct write next;  /* being gathered */
    struct write way;   /* under way; n == 0 and not whole: none */
    uint64_t way_rev;   /* that it makes */
    bool sent;          /* it is sent, and not answered */
    unsigned n_stale;   /* answers still to come that are about writes of an earlier term */
    struct store_counts count;
    struct histo latency;
};

static struct redis_store *of(struct store *s)
{
    return container_of(s, struct redis_store, store);
}

static const struct redis_store *of_const(const struct store *s)
{
    return container_of(s, const struct redis_store, store);
}

/* ---- one batch ------------------------------------------------------------------- */

static bool is_open(const struct write *w)
{
    return w->n != 0 || w->whole;
}

static void write_reset(struct write *w)
{
    buf_reset(&w->text);
    w->n = w->n_puts = 0;
    w->whole = false;
}

static void write_fini(struct write *w)
{
    buf_fini(&w->text);
    free(w->v);
}

static int write_add(struct write *w, const char *key, const char *val)
{
    size_t at = w->text.len;

    if (w->n == w->cap) {
        size_t cap = w->cap != 0 ? w->cap * 2 : 64;
        void *v = realloc(w->v, cap * sizeof(*w->v));

        if (v == NULL)
            return SQ_ENOMEM;
        w->v = v;
        w->cap = cap;
    }
    buf_append(&w->text, key, strlen(key) + 1);
    if (val != NULL)
        buf_append(&w->text, val, strlen(val) + 1);
    if (w->text.failed) {
        w->text.len = at;
        w->text.failed = false;
        return SQ_ENOMEM;
    }
    w->v[w->n].key = at;
    w->v[w->n++].val = val != NULL ? at + strlen(key) + 1 : 0;
    w->n_puts += val != NULL;
    return 0;
}

/* ---- asking ---------------------------------------------------------------------- */

struct command { /* an EVAL being put together; numbers as text */
    struct redis_args a;
    char text[6][32];
    unsigned n_text;
};

static void arg_u64(struct command *c, uint64_t v)
{
    char *t = c->text[c->n_text++];

    snprintf(t, sizeof(c->text[0]), "%" PRIu64, v);
    redis_arg_str(&c->a, t);
}

static void eval(struct command *c, const struct redis_store *s, const char *script)
{
    memset(c, 0, sizeof(*c));
    redis_arg_str(&c->a, "EVAL");
    redis_arg_str(&c->a, script);
    redis_arg_str(&c->a, "3");
    redis_arg_str(&c->a, s->lease);
    redis_arg_str(&c->a, s->head);
    redis_arg_str(&c->a, s->kv);
}

static int run(struct redis_store *s, struct command *c, redis_fn fn)
{
    int rc = redis_send(s->link, &c->a, fn, s);

    redis_args_fini(&c->a);
    return rc;
}

/* Numbers at the front of an answer; false: something else came, and it is told so. */
static bool numbers(struct redis_store *s, const struct redis_ans *a, int64_t *v, size_t n)
{
    if (a->fault != REDIS_NONE) {
        redis_link_fault(s->link, a->fault, a->text);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!redis_ans_int(a, i, &v[i]) || v[i] < 0) {
            redis_link_fault(s->link, REDIS_TYPE, "an answer of another shape");
            return false;
        }
    return true;
}

/* ---- lease ----------------------------------------------------------------------- */

static void lease_answer(struct redis_store *s, const struct redis_ans *a,
                         enum redis_lease_answer good)
{
    struct redis_lease r = { .is = REDIS_NO_ANSWER, .holder = "" };
    int64_t v[4]; /* granted?, rev, epoch, time left */
    const char *p;
    size_t n;

    r.serial = s->asked[s->first_asked]; /* answers come in the order of the questions */
    s->first_asked = (s->first_asked + 1) % ASKED_MAX;
    s->n_asked--;
    if (numbers(s, a, v, 4)) {
        r.is = v[0] == 1 ? good : REDIS_HELD;
        r.rev = (uint64_t)v[1];
        r.epoch = (uint64_t)v[2];
        r.left_ms = v[3];
        if (redis_ans_text(a, 4, &p, &n) && strchr(p, ' ') != NULL)
            r.holder = strchr(p, ' ') + 1;
        if (v[0] == 1)
            redis_link_fault(s->link, REDIS_NONE, NULL);
    }
    s->calls.on_lease(s->ctx, &r);
}

static void on_take(void *ctx, const struct redis_ans *a)
{
    lease_answer(ctx, a, REDIS_GRANTED);
}

static void on_renew(void *ctx, const struct redis_ans *a)
{
    lease_answer(ctx, a, REDIS_RENEWED);
}

static int ask(struct redis_store *s, struct command *c, uint64_t serial, redis_fn fn)
{
    int rc = s->n_asked < ASKED_MAX ? redis_send(s->link, &c->a, fn, s) : SQ_EBUSY;

    redis_args_fini(&c->a);
    if (rc < 0)
        return rc;
    s->asked[(s->first_asked + s->n_asked++) % ASKED_MAX] = serial;
    return 0;
}

int redis_store_take(struct redis_store *s, uint64_t serial, uint64_t above)
{
    struct command c;

    eval(&c, s, REDIS_SCRIPT_TAKE);
    redis_arg_str(&c.a, s->owner);
    redis_arg_str(&c.a, s->info);
    arg_u64(&c, s->ttl_ms);
    arg_u64(&c, above);
    return ask(s, &c, serial, on_take);
}

int redis_store_renew(struct redis_store *s, uint64_t serial, uint64_t epoch)
{
    struct command c;

    eval(&c, s, REDIS_SCRIPT_RENEW);
    redis_arg_str(&c.a, s->owner);
    arg_u64(&c, s->ttl_ms);
    arg_u64(&c, epoch);
    return ask(s, &c, serial, on_renew);
}

static void on_freed(void *ctx, const struct redis_ans *a)
{
    (void)ctx; /* if it was not heard, the lease ends by itself */
    (void)a;
}

void redis_store_free_lease(struct redis_store *s)
{
    struct command c;

    eval(&c, s, REDIS_SCRIPT_FREE);
    redis_arg_str(&c.a, s->owner);
    (void)run(s, &c, on_freed);
}

/* ---- writes ---------------------------------------------------------------------- */

static void send_way(struct redis_store *s);

static void try_again(struct redis_store *s)
{
    s->sent = false;
    s->count.failures++;
    ev_timer_at(s->again, ev_now(s->ev) + AGAIN_MS);
}

static void refused(struct redis_store *s, const char *why)
{
    s->sent = false;
    s->epoch = 0; /* nothing of ours is taken any more */
    s->calls.on_refused(s->ctx, why);
}

static bool is_stale(struct redis_store *s)
{
    if (s->n_stale == 0)
        return false;
    s->n_stale--;
    return true;
}

static void way_done(struct redis_store *s)
{
    histo_add(&s->latency, (uint64_t)(ev_now_us(s->ev) - s->way.sent_us));
    redis_link_fault(s->link, REDIS_NONE, NULL);
    s->sent = false;
    s->rev = s->way_rev;
    s->has_rev = true;
    s->done = s->way.serial;
    s->dirty = is_open(&s->next);
    s->count.syncs++;
    write_reset(&s->way);
    send_way(s);
    s->calls.on_done(s->ctx);
}

static void on_waited(void *ctx, const struct redis_ans *a)
{
    struct redis_store *s = ctx;
    int64_t n;

    if (is_stale(s))
        return;
    if (!numbers(s, a, &n, 1)) {
        try_again(s);
    } else if (n < (int64_t)s->wait_replicas) {
        redis_link_fault(s->link, REDIS_NOREPLICAS, "too few replicas have the write");
        try_again(s);
    } else {
        way_done(s);
    }
}

static void wait_replicas(struct redis_store *s)
{
    struct command c = { 0 };

    redis_arg_str(&c.a, "WAIT");
    arg_u64(&c, s->wait_replicas);
    arg_u64(&c, s->answer_ms / 2);
    if (run(s, &c, on_waited) < 0)
        try_again(s);
}

/* Result, and the rev that is there now. */
static void on_written(void *ctx, const struct redis_ans *a)
{
    struct redis_store *s = ctx;
    int64_t v[2];

    if (is_stale(s))
        return;
    if (!numbers(s, a, v, 2)) {
        try_again(s);
        return;
    }
    if (v[0] == REDIS_WRITE_STALE) {
        refused(s, "a higher epoch was taken");
    } else if (v[0] == REDIS_WRITE_GAP) {
        refused(s, "the store does not have what it acknowledged");
    } else {
        s->way_rev = (uint64_t)v[1];
        if (s->wait_replicas != 0)
            wait_replicas(s);
        else
            way_done(s);
    }
}

static void write_args(struct redis_store *s, struct command *c, const struct write *w)
{
    const char *text = (const char *)w->text.data;

    arg_u64(c, s->epoch);
    arg_u64(c, s->rev);
    arg_u64(c, w->serial);
    redis_arg_str(&c->a, s->owner);
    redis_arg_str(&c->a, w->whole ? "1" : "0");
    for (size_t i = 0; i < w->n; i++) {
        bool put = w->v[i].val != 0;

        redis_arg_str(&c->a, put ? "put" : "del");
        redis_arg_str(&c->a, text + w->v[i].key);
        redis_arg_str(&c->a, put ? text + w->v[i].val : "");
    }
}

/* Sends what is gathered, if nothing is under way. */
static void send_way(struct redis_store *s)
{
    struct command c;

    if (s->epoch == 0 || s->sent || !redis_link_up(s->link))
        return; /* when the link is up, it is done again */
    if (!is_open(&s->way)) {
        struct write empty = s->way;

        if (!is_open(&s->next) || s->next.serial == 0)
            return;
        s->way = s->next;
        s->next = empty;
    }
    eval(&c, s, REDIS_SCRIPT_WRITE);
    write_args(s, &c, &s->way);
    s->way.sent_us = ev_now_us(s->ev);
    s->sent = true;
    if (run(s, &c, on_written) < 0)
        try_again(s);
}

static void on_again(void *arg)
{
    send_way(arg);
}

static int redis_put(struct store *base, const char *key, const char *val)
{
    struct redis_store *s = of(base);
    int rc = pairs_set(&s->mirror, key, val);

    s->dirty = true;
    s->next.since_ms = is_open(&s->next) ? s->next.since_ms : ev_now(s->ev);
    return rc == 0 ? write_add(&s->next, key, val) : rc;
}

static int redis_del(struct store *base, const char *key)
{
    struct redis_store *s = of(base);

    pairs_drop(&s->mirror, key);
    s->dirty = true;
    s->next.since_ms = is_open(&s->next) ? s->next.since_ms : ev_now(s->ev);
    return write_add(&s->next, key, NULL);
}

static int redis_sync(struct store *base, uint64_t *serial, struct err *e)
{
    struct redis_store *s = of(base);

    if (s->epoch == 0)
        return err_set(e, SQ_ESTALE, "this manager does not lead");
    if (is_open(&s->next)) {
        s->next.serial = ++s->issued;
        send_way(s);
    }
    *serial = s->issued;
    return 0;
}

static uint64_t redis_done(const struct store *base)
{
    return of_const(base)->done;
}

static int redis_each(const struct store *base, pair_fn fn, void *ctx)
{
    return pairs_each(&of_const(base)->mirror, fn, ctx);
}

static void redis_count(const struct store *base, struct store_counts *c)
{
    const struct redis_store *s = of_const(base);

    *c = s->count;
    c->keys = s->mirror.live;
    c->bytes = s->mirror.text_bytes;
}

msec_t redis_store_stuck_ms(const struct redis_store *s)
{
    const struct write *w = is_open(&s->way) ? &s->way : &s->next;

    return is_open(w) ? ev_now(s->ev) - w->since_ms : 0;
}

/* ---- terms ----------------------------------------------------------------------- */

void redis_store_begin(struct redis_store *s, uint64_t epoch)
{
    s->epoch = epoch;
}

void redis_store_end(struct redis_store *s)
{
    s->epoch = 0;
    s->n_stale += s->sent;
    s->sent = false;
    s->done = s->issued;
    write_reset(&s->way);
    write_reset(&s->next);
    s->next.serial = 0;
    ev_timer_at(s->again, MSEC_NEVER);
}

enum redis_mirror redis_store_compare(const struct redis_store *s, uint64_t rev)
{
    if (s->has_rev && rev < s->rev)
        return REDIS_WENT_BACK;
    return !s->has_rev || s->dirty || rev != s->rev ? REDIS_NEWER : REDIS_SAME;
}

bool redis_store_knows(const struct redis_store *s, uint64_t rev)
{
    return s->has_rev && s->rev >= rev;
}

/* rev, then key, value, key, value ... */
static int take_pairs(struct redis_store *s, const struct redis_ans *a)
{
    size_t n = redis_ans_n(a), len;
    struct pairs fresh;
    int64_t rev;
    int rc = numbers(s, a, &rev, 1) ? 0 : SQ_EUNAVAIL;

    pairs_init(&fresh);
    for (size_t i = 1; rc == 0 && i + 1 < n; i += 2) {
        const char *key, *val;

        if (!redis_ans_text(a, i, &key, &len) || strlen(key) != len ||
            !redis_ans_text(a, i + 1, &val, &len) || strlen(val) != len)
            rc = SQ_EPROTO;
        else
            rc = pairs_set(&fresh, key, val);
    }
    if (rc < 0) {
        pairs_fini(&fresh);
        return rc;
    }
    pairs_fini(&s->mirror);
    s->mirror = fresh;
    s->rev = (uint64_t)rev;
    s->has_rev = true;
    s->dirty = false;
    return 0;
}

static void on_load(void *ctx, const struct redis_ans *a)
{
    struct redis_store *s = ctx;

    s->calls.on_loaded(s->ctx, s->epoch != 0 ? SQ_EBUSY : take_pairs(s, a));
}

int redis_store_load(struct redis_store *s)
{
    struct command c;

    eval(&c, s, REDIS_SCRIPT_LOAD);
    return run(s, &c, on_load);
}

static int add_all(void *ctx, const char *key, const char *val)
{
    return write_add(ctx, key, val);
}

int redis_store_restore(struct redis_store *s)
{
    int rc = pairs_each(&s->mirror, add_all, &s->next);

    log_error("event=store_went_back rev=%" PRIu64 " note=\"Redis has less than it "
              "acknowledged; what this manager knows is written back\"", s->rev);
    s->next.whole = true;
    s->next.since_ms = ev_now(s->ev);
    return rc;
}

/* ---- life ------------------------------------------------------------------------ */

static void on_up(void *ctx, int64_t uptime_ms)
{
    struct redis_store *s = ctx;

    s->calls.on_link(s->ctx, true, uptime_ms);
    send_way(s);
}

static void on_down(void *ctx)
{
    struct redis_store *s = ctx;

    s->calls.on_link(s->ctx, false, -1);
}

static void redis_close(struct store *base)
{
    struct redis_store *s = of(base);

    redis_link_free(s->link);
    if (s->again != NULL)
        ev_timer_free(s->again);
    pairs_fini(&s->mirror);
    write_fini(&s->next);
    write_fini(&s->way);
    free(s);
}

struct store *redis_store_base(struct redis_store *s)
{
    return &s->store;
}

const struct redis_link *redis_store_link(const struct redis_store *s)
{
    return s->link;
}

const struct histo *redis_store_latency(const struct redis_store *s)
{
    return &s->latency;
}

int redis_store_new(struct redis_store **out, struct ev *ev, const struct redis_store_opts *o,
                    const struct redis_store_calls *calls, void *ctx, struct err *e)
{
    static const struct store_ops ops = { redis_put,  redis_del,   redis_sync, redis_done,
                                          redis_each, redis_count, redis_close };
    static const struct redis_calls link_calls = { on_up, on_down };
    struct redis_store *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return err_set(e, SQ_ENOMEM, "redis: out of memory");
    s->store.ops = &ops;
    s->ev = ev;
    s->calls = *calls;
    s->ctx = ctx;
    s->ttl_ms = o->ttl_ms;
    s->wait_replicas = o->wait_replicas;
    s->answer_ms = o->link.answer_ms;
    snprintf(s->lease, sizeof(s->lease), "{%s}:lease", o->prefix);
    snprintf(s->head, sizeof(s->head), "{%s}:head", o->prefix);
    snprintf(s->kv, sizeof(s->kv), "{%s}:kv", o->prefix);
    snprintf(s->owner, sizeof(s->owner), "%s", o->owner);
    snprintf(s->info, sizeof(s->info), "%s", o->info);
    pairs_init(&s->mirror);
    buf_init(&s->next.text);
    buf_init(&s->way.text);
    s->again = ev_timer_new(ev, on_again, s);
    rc = s->again == NULL ? err_set(e, SQ_ENOMEM, "redis: out of memory")
                          : redis_link_new(&s->link, ev, &o->link, &link_calls, s, e);
    if (rc < 0) {
        redis_close(&s->store);
        return rc;
    }
    *out = s;
    return 0;
}
