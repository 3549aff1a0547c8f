/* redis_store.c: see the header. Batches of writes are gathered, sent one at a time, and sent again until
 * they are acknowledged or their term is over. */
#include "queuemng/store/redis_store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "queuemng/store/redis_store_int.h"

#define LOG_MODULE "redis"
#define AGAIN_MS   100 /* a write that failed is sent again */

/* ---- one batch ------------------------------------------------------------------- */

static bool write_is_open(const struct write *w)
{
    return w->n != 0 || w->whole;
}

static void write_reset(struct write *w)
{
    buf_reset(&w->text);
    w->n = w->n_puts = 0;
    w->whole = false;
    w->serial = 0; /* not handed over */
}

static void write_fini(struct write *w)
{
    buf_fini(&w->text);
    free(w->v);
}

/* val NULL: delete. SQ_ENOMEM: the batch is as before. */
static int write_add(struct write *w, const char *key, const char *val)
{
    size_t at = w->text.len;

    assert(key[0] != '\0');
    if (!GROW(w->v, w->n, w->cap, 64))
        return SQ_ENOMEM;
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

static void write_go(struct redis_store *s);

/* ---- writes ---------------------------------------------------------------------- */

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

static void write_done(struct redis_store *s)
{
    assert(s->sent && write_is_open(&s->in_flight) && s->in_flight.serial <= s->issued);
    histo_add(&s->latency, (uint64_t)(ev_now_us(s->ev) - s->in_flight.sent_us));
    redis_link_fault(s->link, REDIS_NONE, NULL);
    s->sent = false;
    s->rev = s->in_flight_rev;
    s->has_rev = true;
    s->done = s->in_flight.serial;
    s->dirty = write_is_open(&s->next);
    s->count.syncs++;
    write_reset(&s->in_flight);
    write_go(s);
    s->calls.on_done(s->ctx);
}

static void on_waited(void *ctx, const struct redis_ans *a)
{
    struct redis_store *s = ctx;

    if (is_stale(s))
        return;
    if (redis_waited(s->link, a, s->wait_replicas))
        write_done(s);
    else
        try_again(s);
}

static void wait_replicas(struct redis_store *s)
{
    if (redis_wait(s->link, s->wait_replicas, s->answer_ms, on_waited, s) < 0)
        try_again(s);
}

/* Result, and the rev that is there now. */
static void on_written(void *ctx, const struct redis_ans *a)
{
    struct redis_store *s = ctx;
    int64_t v[2];

    if (is_stale(s))
        return;
    if (!redis_numbers(s->link, a, v, 2)) {
        try_again(s);
        return;
    }
    if (v[0] == REDIS_WRITE_STALE) {
        refused(s, "a higher epoch was taken");
    } else if (v[0] == REDIS_WRITE_GAP) {
        refused(s, "the store does not have what it acknowledged");
    } else {
        s->in_flight_rev = (uint64_t)v[1];
        if (s->wait_replicas != 0)
            wait_replicas(s);
        else
            write_done(s);
    }
}

static void write_args(struct redis_store *s, struct redis_command *c, const struct write *w)
{
    const char *text = (const char *)w->text.data;

    redis_arg_u64(c, s->epoch);
    redis_arg_u64(c, s->rev);
    redis_arg_u64(c, w->serial);
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
static void write_go(struct redis_store *s)
{
    struct redis_command c;

    if (s->epoch == 0 || s->sent || !redis_link_up(s->link))
        return; /* when the link is up, it is done again */
    if (!write_is_open(&s->in_flight)) {
        struct write empty = s->in_flight;

        if (!write_is_open(&s->next) || s->next.serial == 0)
            return;
        s->in_flight = s->next;
        s->next = empty;
    }
    assert(s->in_flight.serial > 0);
    redis_eval(&c, REDIS_SCRIPT_WRITE, s->key, ARRAY_LEN(s->key));
    write_args(s, &c, &s->in_flight);
    s->in_flight.sent_us = ev_now_us(s->ev);
    s->sent = true;
    if (redis_run(s->link, &c, on_written, s) < 0)
        try_again(s);
}

/* ---- the store ---- */

static struct redis_store *of(struct store *s)
{
    return container_of(s, struct redis_store, store);
}

static const struct redis_store *of_const(const struct store *s)
{
    return container_of(s, const struct redis_store, store);
}

static void on_again(void *arg)
{
    write_go(arg);
}

/* ---- pairs ----------------------------------------------------------------------- */

static int redis_put(struct store *base, const char *key, const char *val)
{
    struct redis_store *s = of(base);
    int rc = kv_set(&s->mirror, key, val);

    s->dirty = true;
    s->next.since_ms = write_is_open(&s->next) ? s->next.since_ms : ev_now(s->ev);
    return rc == 0 ? write_add(&s->next, key, val) : rc;
}

static int redis_del(struct store *base, const char *key)
{
    struct redis_store *s = of(base);

    kv_del(&s->mirror, key);
    s->dirty = true;
    s->next.since_ms = write_is_open(&s->next) ? s->next.since_ms : ev_now(s->ev);
    return write_add(&s->next, key, NULL);
}

static int redis_sync(struct store *base, uint64_t *serial, struct err *e)
{
    struct redis_store *s = of(base);

    if (s->epoch == 0)
        return err_set(e, SQ_ESTALE, "this manager does not lead");
    if (write_is_open(&s->next)) {
        s->next.serial = ++s->issued;
        write_go(s);
    }
    assert(s->done <= s->issued);
    *serial = s->issued;
    return 0;
}

static uint64_t redis_done(const struct store *base)
{
    return of_const(base)->done;
}

static int redis_each(const struct store *base, kv_fn fn, void *ctx)
{
    return kv_each(&of_const(base)->mirror, fn, ctx);
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
    const struct write *w = write_is_open(&s->in_flight) ? &s->in_flight : &s->next;

    return write_is_open(w) ? ev_now(s->ev) - w->since_ms : 0;
}

/* ---- terms ----------------------------------------------------------------------- */

void redis_store_begin(struct redis_store *s, uint64_t epoch)
{
    assert(epoch > 0 && !s->sent);
    s->epoch = epoch;
}

void redis_store_end(struct redis_store *s)
{
    s->epoch = 0;
    s->n_stale += s->sent;
    s->sent = false;
    s->done = s->issued;
    write_reset(&s->in_flight);
    write_reset(&s->next);
    ev_timer_at(s->again, MSEC_NEVER);
}

enum redis_mirror redis_store_compare(const struct redis_store *s, uint64_t rev)
{
    if (s->has_rev && rev < s->rev)
        return REDIS_WENT_BACK;
    return !s->has_rev || s->dirty || rev != s->rev ? REDIS_NEWER : REDIS_SAME;
}

/* rev, then key, value, key, value ... SQ_ESTALE: it was emptied; our copy is kept. */
static int take_pairs(struct redis_store *s, const struct redis_ans *a)
{
    size_t n = redis_ans_n(a), len;
    struct kv fresh;
    int64_t rev;
    int rc = redis_numbers(s->link, a, &rev, 1) ? 0 : SQ_EUNAVAIL;

    if (rc == 0 && rev == 0 && s->has_rev && s->rev > 0)
        rc = SQ_ESTALE;
    kv_init(&fresh);
    for (size_t i = 1; rc == 0 && i + 1 < n; i += 2) {
        const char *key, *val;

        if (!redis_ans_text(a, i, &key, &len) || strlen(key) != len ||
            !redis_ans_text(a, i + 1, &val, &len) || strlen(val) != len)
            rc = SQ_EPROTO;
        else
            rc = kv_set(&fresh, key, val);
    }
    if (rc < 0) {
        kv_fini(&fresh);
        return rc;
    }
    kv_fini(&s->mirror);
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
    struct redis_command c;

    redis_eval(&c, REDIS_SCRIPT_LOAD, s->key, ARRAY_LEN(s->key));
    c.a.answer_bytes = 2 * s->mirror.text_bytes + (1u << 20);
    return redis_run(s->link, &c, on_load, s);
}

static int add_all(void *ctx, const char *key, const char *val)
{
    return write_add(ctx, key, val);
}

int redis_store_restore(struct redis_store *s)
{
    int rc = kv_each(&s->mirror, add_all, &s->next);

    log_error("event=store_went_back rev=%" PRIu64 " note=\"Redis has less than it "
              "acknowledged; what this manager knows is written back\"",
              s->rev);
    s->next.whole = true;
    s->next.since_ms = ev_now(s->ev);
    return rc;
}

/* ---- replicas -------------------------------------------------------------------- */

/* The last line is there if, and only if, both min-replicas-to-write and its lag are set. */
bool redis_takes_writes_alone(const char *info)
{
    static const char key[] = "\nconnected_slaves:";
    const char *at = strstr(info, key);

    return at != NULL && strtol(at + sizeof(key) - 1, NULL, 10) > 1 &&
           strstr(info, "\nmin_slaves_good_slaves:") == NULL;
}

/* Not everybody may ask for it. */
static void on_replicas(void *ctx, const struct redis_ans *a)
{
    struct redis_store *s = ctx;
    const char *p;
    size_t n;
    bool alone;

    if (a->fault != REDIS_NONE || !redis_ans_text(a, 0, &p, &n))
        return;
    alone = redis_takes_writes_alone(p);
    if (alone && !s->alone)
        log_warn("event=redis_writes_alone addr=%s do=\"set min-replicas-to-write and "
                 "min-replicas-max-lag of Redis\"",
                 redis_link_addr(s->link));
    s->alone = alone;
}

void redis_store_ask_replicas(struct redis_store *s)
{
    struct redis_args a = { 0 };

    if (!s->fails_over)
        return;
    s->replicas_ms = ev_now(s->ev);
    redis_arg_str(&a, "INFO");
    redis_arg_str(&a, "replication");
    if (redis_send(s->link, &a, on_replicas, s) < 0)
        s->replicas_ms = 0; /* at the next renewal */
    redis_args_fini(&a);
}

bool redis_store_alone(const struct redis_store *s)
{
    return s->alone;
}

/* ---- life ------------------------------------------------------------------------ */

static void on_up(void *ctx, int64_t uptime_ms)
{
    struct redis_store *s = ctx;

    s->calls.on_link(s->ctx, true, uptime_ms);
    redis_store_ask_replicas(s);
    write_go(s);
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
    kv_fini(&s->mirror);
    write_fini(&s->next);
    write_fini(&s->in_flight);
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

int redis_store_new(struct redis_store **out, struct ev *ev,
                    const struct redis_store_opts *o,
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
    s->fails_over = o->link.n_sentinels > 0 || o->link.n_addrs > 1;
    snprintf(s->key[0], sizeof(s->key[0]), "{%s}:lease", o->prefix);
    snprintf(s->key[1], sizeof(s->key[1]), "{%s}:head", o->prefix);
    snprintf(s->key[2], sizeof(s->key[2]), "{%s}:kv", o->prefix);
    snprintf(s->owner, sizeof(s->owner), "%s", o->owner);
    snprintf(s->info, sizeof(s->info), "%s", o->info);
    kv_init(&s->mirror);
    buf_init(&s->next.text);
    buf_init(&s->in_flight.text);
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
