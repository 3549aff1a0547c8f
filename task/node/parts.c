/* parts.c: a table of them by number. */
#include "task/node/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "task/engine/change.h"
#include "task/engine/engine.h"
#include "task/engine/replay.h"
#include "task/node/ends.h"
#include "task/node/state.h"

#define LOG_MODULE "table"

#define TIMERS_PER_TURN 1000u
#define CLOCK_EACH_MS   3600000 /* idle partitions, too: alive then */
#define CLOCK_SET_MS    1000
#define AWAY_MOST_MS    ((msec_t)86400000) /* leap of a clock that is believed after a reboot */

struct part *tasktab_part_new(struct tasktab *t, const struct part_seed *s)
{
    struct engine_opts o = { s->max_tasks, t->o.max_keys, { 0 }, ms_max(t->now.ms, 1),
                             t->o.shared != NULL ? t->o.shared->bytes : t->o.bodies.bytes, t->o.zones };
    struct part *p = calloc(1, sizeof(*p));

    if (p == NULL || !GROW(t->part, t->n_parts, t->parts_cap, 16) ||
        map_set_ptr(&t->by_no, s->no, p) < 0) {
        free(p);
        return NULL;
    }
    memcpy(o.seed, s->seed, NAMES_SEED);
    memcpy(p->seed, s->seed, NAMES_SEED);
    lease_key_init(&p->leases, p->seed);
    p->tab = t;
    p->no = s->no;
    p->due = MSEC_NEVER;
    for (unsigned door = 0; door < 2; door++) {
        list_init(&p->spots[door]);
        map_init(&p->by_key[door], 0); /* hashes are keyed; numbers are our own */
    }
    engine_init(&p->e, &o);
    schedules_init(&p->schedules, t->o.zones);
    notices_init(&p->notices, false);
    notices_init(&p->relays, true);
    p->e.ended_ctx = p;
    tasktab_hear_ends(p);
    t->part[t->n_parts++] = p;
    return p;
}

void tasktab_out_end(struct part *p)
{
    if (p->out != NULL)
        buf_fini(&p->out->stream);
    free(p->out);
    p->out = NULL;
}

void tasktab_part_free(struct tasktab *t, struct part *p)
{
    (void)t;
    for (unsigned door = 0; door < 2; door++) {
        assert(p->spots[door].n == 0);
        map_fini(&p->by_key[door]);
    }
    tasktab_out_end(p);
    engine_fini(&p->e);
    schedules_fini(&p->schedules);
    notices_fini(&p->notices);
    notices_fini(&p->relays);
    free(p->busiest.v);
    free(p->estimates);
    free(p);
}

/* Counts its attempts of which nobody here hears the end: another node settles them. */
static uint64_t unheard(const struct tasktab *t, const struct part *p)
{
    uint64_t n = p->e.store.n[TASK_RUNNING] + p->e.cuts;

    each_going (t->o.calls, g)
        n -= g->part == p->no && n > 0;
    return n;
}

/* Counts those of them at this target, or where nobody knows. */
static uint64_t unheard_at(const struct tasktab *t, const struct part *p, const struct endpoint *at)
{
    uint64_t n = p->e.store.n[TASK_RUNNING] + p->e.cuts;

    for (unsigned no = 1; no <= TARGET_NO_MAX; no++)
        n -= no != at->def.target ? p->e.at_target[no] : 0;
    each_going (t->o.calls, g)
        n -= g->part == p->no && (g->at == at || g->at == g->endpoint) && n > 0;
    return n;
}

void tasktab_calls_leave(struct tasktab *t, const struct part *p)
{
    msec_t until;

    if (p->endpoint == NULL || p->life != PART_OWNED)
        return;
    until = t->now.ms + p->endpoint->def.deadline_ms + LEASE_MORE_MS;
    t->left = true;
    endpoint_leaves(p->endpoint, unheard(t, p), until);
    list_each_of (&p->endpoint->targets, struct endpoint, in_of, x)
        endpoint_leaves(x, unheard_at(t, p, x), until);
}

void tasktab_part_drop(struct tasktab *t, struct part *p)
{
    uint32_t i = 0;

    tasktab_calls_leave(t, p);
    while (t->part[i] != p)
        i++;
    t->part[i] = t->part[--t->n_parts];
    map_del(&t->by_no, p->no);
    tasktab_part_free(t, p);
}

struct part *tasktab_part(const struct tasktab *t, part_no no)
{
    return map_get_ptr(&t->by_no, no);
}

struct part *tasktab_owned(struct tasktab *t, part_no no, uint64_t epoch)
{
    struct part *p = tasktab_part(t, no);

    if (p == NULL || p->epoch != epoch || p->life != PART_OWNED) {
        t->n.stale++;
        return NULL;
    }
    p->asked |= !p->hold;
    tasktab_clock(t, p);
    return p;
}

/* Two looks at a task that has not changed tell the same moments. */
static void set_unix(const struct tasktab *t, struct part *p)
{
    msec_t ahead = t->now.wall_ms - t->now.ms - p->e.ahead_ms;

    if (ahead > p->unix_ahead + 1 || ahead < p->unix_ahead - 1)
        p->unix_ahead = ahead;
}

/* ---- its axis over a restart, and to another node ------------------------------------ */

struct part_clock tasktab_clock_seen(const struct tasktab *t, const struct part *p)
{
    return (struct part_clock){ engine_now(&p->e, t->now.ms), t->o.boot.id,
                                t->now.ms + t->o.boot.ahead_ms, t->now.wall_ms };
}

bool tasktab_clock_is_old(const struct tasktab *t, const struct part *p)
{
    const struct part_clock *c = &p->clock;
    struct part_clock now = tasktab_clock_seen(t, p);
    msec_t set = (now.wall_ms - now.axis) - (c->wall_ms - c->axis);

    return p->life == PART_OWNED &&
           (c->axis == 0 || c->boot != now.boot || now.boot_ms - c->boot_ms >= CLOCK_EACH_MS ||
            set > CLOCK_SET_MS || set < -CLOCK_SET_MS);
}

/* Under another start of a machine only the wall says how long it took: a day at most. */
static msec_t by_wall(const struct part *p, msec_t at, msec_t last)
{
    if (at - last <= AWAY_MOST_MS)
        return at;
    log_warn("event=clock_leap_bounded part=%u wall_says_ms=%" PRId64 " believed_ms=%" PRId64, p->no,
             at - last, AWAY_MOST_MS);
    return last + AWAY_MOST_MS;
}

msec_t tasktab_clock_after(const struct tasktab *t, const struct part *p)
{
    const struct part_clock *c = &p->clock;
    msec_t last = ms_max(p->e.logged_at, c->axis);
    msec_t wall = c->axis + (t->now.wall_ms - c->wall_ms);
    msec_t at = c->axis + (t->now.ms + t->o.boot.ahead_ms - c->boot_ms);

    if (c->axis == 0) /* no CLOCK was written yet */
        return t->now.ms;
    if (c->boot == 0 || c->boot != t->o.boot.id)
        return ms_max(by_wall(p, wall, last), last);
    if (wall - at > CLOCK_SET_MS || at - wall > CLOCK_SET_MS)
        log_warn("event=clock_leap_ignored part=%u leap_ms=%" PRId64, p->no, wall - at);
    return ms_max(at, last);
}

msec_t tasktab_clock_gone(const struct tasktab *t, const struct trec *r)
{
    if (r->lo != 0 && r->lo == t->o.boot.id)
        return t->now.ms + t->o.boot.ahead_ms - (msec_t)r->entered;
    return ms_min(t->now.wall_ms - (msec_t)r->wall, AWAY_MOST_MS);
}

void tasktab_clock(struct tasktab *t, struct part *p)
{
    if (!p->turned)
        set_unix(t, p);
    if (p->turned || t->hold || p->hold || p->life != PART_OWNED)
        return;
    p->turned = true;
    p->more = engine_advance(&p->e, t->now, portion_of(TIMERS_PER_TURN, t->o.portion));
    p->more |= engine_groups_advance(&p->e, portion_of(TIMERS_PER_TURN, t->o.portion));
}

int tasktab_part_apply(struct part *p, const struct trec *r)
{
    if (is_relay_record(r->kind))
        return notices_apply(&p->relays, r);
    if (notices_has_record(r->kind)) {
        int rc = notices_apply(&p->notices, r);

        tasktab_hear_ends(p);
        return rc;
    }
    return schedules_has_record(r->kind) ? schedules_apply(&p->schedules, r) : engine_apply(&p->e, r);
}

void tasktab_part_snapshot(const struct part *p, struct buf *out)
{
    engine_snapshot(&p->e, out);
    schedules_snapshot(&p->schedules, out);
    notices_snapshot(&p->notices, out);
    notices_snapshot(&p->relays, out);
}

uint64_t tasktab_tasks(const struct tasktab *t)
{
    uint64_t n = 0;

    each_part (t, p)
        n += tasktab_part_tasks(p);
    return n;
}

/* p, if it has any, else the partition that has most of them. In a shared store each partition is written, and
 * asked for its turn, alone: p only. */
static struct part *gives_way(struct tasktab *t, struct part *p)
{
    struct part *most = p;

    if (p->e.overs.n > 0 || t->o.shared != NULL)
        return p;
    each_part (t, q)
        if (q->life == PART_OWNED && q->e.overs.n > most->e.overs.n)
            most = q;
    return most;
}

bool tasktab_make_room(struct node_room *room)
{
    struct part *from;

    if (room->others + tasktab_part_tasks(room->p) < room->p->tab->o.max_tasks)
        return true;
    from = gives_way(room->p->tab, room->p);
    if (!engine_give_way(&from->e))
        return false;
    room->others -= from != room->p;
    return true;
}

/* ---- busiest ------------------------------------------------------------------------------ */

void busiest_look(struct busiest *b, const struct engine *e, unsigned most)
{
    struct key_view *now;

    if (b->v == NULL && most > 0)
        b->v = calloc((size_t)most * 2, sizeof(*b->v)); /* without memory: again at the next report */
    if (b->v == NULL)
        return;
    now = b->v + most;
    engine_top_queues(e, &b->at, BUSIEST_STEPS, now, &b->n_now, most);
    if (b->at != SLOT_NONE)
        return;
    memcpy(b->v, now, b->n_now * sizeof(*now));
    b->n = b->n_now;
    b->n_now = 0;
    b->at = 0;
}

static void add_up(struct key_view *sum, const struct key_view *v)
{
    sum->waiting += v->waiting;
    sum->running += v->running;
    sum->dead += v->dead;
}

/* The figures of a queue that may be anywhere: in two partitions, if a more specific pool has taken it and
 * the tasks that it had are not over yet. */
static void look_at_named(const struct tasktab *t, const char *name, struct key_view *v)
{
    struct key_view one;

    *v = (struct key_view){ 0 };
    copy_text(v->key1, sizeof(v->key1), name);
    each_part (t, p)
        if (p->life == PART_OWNED && engine_queue_view(&p->e, name, &one))
            add_up(v, &one);
}

static struct key_view *find(struct key_view *v, unsigned n, const char *queue)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(v[i].key1, queue) == 0)
            return &v[i];
    return NULL;
}

/* Adds one of a partition's busiest to those of the others. */
static void join_one(const struct part *p, unsigned i, struct key_view *top, unsigned *n, unsigned most)
{
    struct key_view *v = p->busiest.v, *k, now;

    if (find(v, i, v[i].key1) != NULL || !engine_queue_view(&p->e, v[i].key1, &now))
        return; /* gone, or gone and come during the walk */
    k = find(top, *n, now.key1);
    if (k != NULL) {
        add_up(k, &now);
        return;
    }
    k = key_view_room(top, n, most, (uint64_t)now.waiting + now.dead);
    if (k != NULL)
        *k = now;
}

unsigned tasktab_queue_views(const struct tasktab *t, const char names[][TASK_NAME_MAX + 1],
                             unsigned n_names, struct key_view *v)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_names; i++)
        look_at_named(t, names[i], &v[i]);
    each_part (t, p)
        for (unsigned i = 0; p->life == PART_OWNED && i < u32_min(p->busiest.n, t->o.busiest); i++)
            if (find(v, n_names, p->busiest.v[i].key1) == NULL)
                join_one(p, i, v + n_names, &n, t->o.busiest);
    return n_names + n;
}
