/* redis_store.c: see the header. */
#include "queuemng/store/redis_store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/store/redis_scripts.h"
#include "queuemng/store/redis_write.h"

#define LOG_MODULE "redis"

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
    redis_write_go(arg);
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
        redis_write_go(s);
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

/* ---- life ------------------------------------------------------------------------ */

static void on_up(void *ctx, int64_t uptime_ms)
{
    struct redis_store *s = ctx;

    s->calls.on_link(s->ctx, true, uptime_ms);
    redis_write_go(s);
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
