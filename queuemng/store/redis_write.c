#include "queuemng/store/redis_write.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "queuemng/store/redis_scripts.h"

#define AGAIN_MS 100 /* a write that failed is sent again */

/* ---- one batch ------------------------------------------------------------------- */

bool write_is_open(const struct write *w)
{
    return w->n != 0 || w->whole;
}

void write_reset(struct write *w)
{
    buf_reset(&w->text);
    w->n = w->n_puts = 0;
    w->whole = false;
    w->serial = 0; /* not handed over */
}

void write_fini(struct write *w)
{
    buf_fini(&w->text);
    free(w->v);
}

int write_add(struct write *w, const char *key, const char *val)
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
    redis_write_go(s);
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

void redis_write_go(struct redis_store *s)
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
