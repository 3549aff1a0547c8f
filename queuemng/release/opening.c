/* opening.c: queues that open and close by the clock. */
#include "queuemng/release/opening.h"

#include <assert.h>
#include <sodium.h>

#include "common/base/log.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "schedule"

static bool has_schedule(const struct mqueue *q)
{
    return q->sched.opens_ms != 0 || q->sched.closes_ms != 0 || q->sched.phase != SCHED_PLAIN;
}

/* Makes a seed from a secret that nobody knows, and that no seed gives away. */
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
    assert(q->sched.phase < ARRAY_LEN(names));
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
    m->sched_ms = wall_believed(&m->wall_guard, m->now_ms, m->wall_raw_ms);
    if (!m->schedules && !second)
        return;
    m->schedules = false;
    each_queue(m, q) {
        if (!has_schedule(q))
            continue;
        m->schedules = true;
        sched_look(m, q); /* may put it at the end of the list: seen again, unchanged */
    }
}
