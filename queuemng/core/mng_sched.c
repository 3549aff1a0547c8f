/* mng_sched.c: queues that open and close by the clock: the schedule's phases put into
 * effect, and what must not be forgotten of them (record `sched/ID`). */
#include "queuemng/core/mng_int.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "schedule"

static bool has_schedule(const struct mqueue *q)
{
    return q->sched.opens_ms != 0 || q->sched.closes_ms != 0 || q->sched.phase != SCHED_PLAIN;
}

/* Nobody knows the secret, and nobody learns it from one seed. */
static void next_seed(struct mng *m, const struct mqueue *q, uint8_t seed[DRAW_SEED])
{
    const uint64_t what[] = { m->opts.seed, m->epoch, q->id, ++m->seeds };
    crypto_hash_sha256_state s;

    crypto_hash_sha256_init(&s);
    crypto_hash_sha256_update(&s, m->opts.secret, sizeof(m->opts.secret));
    crypto_hash_sha256_update(&s, (const uint8_t *)what, sizeof(what));
    crypto_hash_sha256_final(&s, seed);
}

static void sched_look(struct mng *m, struct mqueue *q)
{
    static const char *const names[] = { "plain", "early", "prequeue", "over" };
    uint8_t seed[DRAW_SEED], was = q->sched.phase;

    if (!m->started)
        return;
    next_seed(m, q, seed);
    if (!schedule_step(&q->sched, &q->def.when, m->sched_ms, seed))
        return;
    if (q->sched.phase != was)
        log_info("event=schedule queue=%s phase=%s was=%s", q->def.name, names[q->sched.phase],
                 names[was]);
    if (q->sched.phase != was)
        q->early_ready = false;
    q->put_sched = true;
    queue_put_later(m, q);
    queue_mapped(m, q);
    queue_figures_now(m, q);
    for (unsigned i = 0; i < q->n_lanes; i++)
        lane_touch(m, &q->lane[i]);
}

void sched_set(struct mng *m, struct mqueue *q)
{
    schedule_set(&q->sched, &q->def.when);
    if (has_schedule(q)) {
        m->schedules = true;
        sched_look(m, q);
    }
}

/* Queues without a schedule cost a look once a second: the flag says if there is any. */
void sched_tick(struct mng *m, bool second)
{
    m->sched_ms = wall_believed(&m->wall_guard, m->now_ms, m->said_ms);
    if (!m->schedules && !second)
        return;
    m->schedules = false;
    list_each(&m->queues, it) {
        struct mqueue *q = list_entry(it, struct mqueue, in_all);

        if (!has_schedule(q))
            continue;
        m->schedules = true;
        sched_look(m, q); /* may put it at the end of the list: seen again, unchanged */
    }
}

bool sched_holds(const struct mqueue *q)
{
    return q->sched.phase == SCHED_EARLY || q->sched.phase == SCHED_PREQUEUE;
}

/* ---- what is kept ------------------------------------------------------------------------ */

static json_t *draws_json(const struct schedule *s)
{
    json_t *v = json_array();

    for (uint32_t i = 0; i < s->n_draws; i++)
        json_array_append_new(v, json_pack("[I,I]", (json_int_t)s->draws[i].seg,
                                           (json_int_t)s->draws[i].count));
    return v;
}

void sched_put(struct mng *m, const struct mqueue *q)
{
    const struct schedule *s = &q->sched;
    char hex[DRAW_HEX + 1], key[32];

    sodium_bin2hex(hex, sizeof(hex), s->seed, sizeof(s->seed));
    snprintf(key, sizeof(key), "sched/%u", q->id);
    keep_put_json(m, key,
                  json_pack("{s:I,s:I,s:I,s:i,s:s,s:o}", "early", (json_int_t)s->early_for,
                            "opened", (json_int_t)s->opened_for, "closed",
                            (json_int_t)s->closed_for, "draw", s->draw, "seed", hex, "draws",
                            draws_json(s)));
}

bool sched_load(struct mqueue *q, const struct json_t *record)
{
    json_t *j = (json_t *)(uintptr_t)record; /* only read */
    struct schedule *s = &q->sched;
    json_int_t early, opened, closed;
    const char *hex;
    size_t n, i;
    json_t *draws, *v;
    int draw;

    if (json_unpack(j, "{s:I,s:I,s:I,s:i,s:s,s:o}", "early", &early, "opened", &opened,
                    "closed", &closed, "draw", &draw, "seed", &hex, "draws", &draws) < 0 ||
        draw < DRAW_NONE || draw > DRAW_TOLD ||
        sodium_hex2bin(s->seed, sizeof(s->seed), hex, strlen(hex), NULL, &n, NULL) < 0 ||
        n != sizeof(s->seed))
        return false;
    s->early_for = early;
    s->opened_for = opened;
    s->closed_for = closed;
    s->draw = (uint8_t)draw;
    s->n_draws = 0;
    json_array_foreach(draws, i, v)
        schedule_drawn(s, (uint64_t)json_integer_value(json_array_get(v, 0)),
                       (uint32_t)json_integer_value(json_array_get(v, 1)));
    return true;
}
