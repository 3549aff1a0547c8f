/* test_mng_segtab.c: the manager core and the nodes' core together: a merge, the drain of
 * a node, and both after one another, with one fault at every single message of them.
 * Afterwards everything must come to rest: every ticket waits exactly once, nothing is
 * under way, nobody was passed; and then everybody is released, in order. */
#include "tests/lib/mngrig.h"

#define QUEUE(state, rate)                                                               \
    "{\"name\": \"q\", \"state\": \"" state "\", \"release_per_s\": " rate ", "          \
    "\"segment_capacity\": 40, \"merge\": true, \"claim\": \"60s\", \"grace\": "         \
    "\"60s\", "                                                                          \
    "\"idle\": {\"game\": \"12s\", \"mobile\": \"12s\", \"browser\": \"12s\"}, "         \
    "\"poll_max\": \"4s\", "                                                             \
    "\"pass_ttl\": \"10m\"}"

enum { MERGE = 1, DRAIN = 2, RELEASE = 4 };

/* ---- what can happen ------------------------------------------------------------- */

/* And once more, so many messages later. */
static void restart_twice(struct mr *r, int gap)
{
    mr_restart_manager_in(r, 0);
    r->at += (uint32_t)gap;
    r->arg = 0;
    if (gap == 0)
        r->fault = NULL;
}

/* arg: node + 3 * milliseconds */
static void manager_cut(struct mr *r, int arg)
{
    mr_link_down(r, &r->link[arg % MR_NODES], arg / MR_NODES);
}

static void copy_cut(struct mr *r, int ms)
{
    for (int i = 0; i < MR_NODES; i++)
        for (int k = 0; k < MR_NODES; k++)
            mr_link_down(r, mr_copy_link(r, i, k), ms);
}

static void all_cut(struct mr *r, int ms)
{
    copy_cut(r, ms);
    for (int i = 0; i < MR_NODES; i++)
        mr_link_down(r, &r->link[i], ms);
}

static void flush(struct mr *r, int cut)
{
    r->may_lose = true;
    if (cut >= 0)
        mr_link_down(r, &r->link[cut], 1500);
    mr_order(r, MNG_FLUSH);
}

static void delete_queue(struct mr *r, int cut)
{
    struct err e = { 0 };
    struct mng_deleted_view gone;

    r->may_lose = true;
    if (cut >= 0)
        mr_link_down(r, &r->link[cut], 1500);
    cr_assert_eq(mng_queue_delete(r->m, r->now, "q", true, &gone, &r->out, &e), 0, "%s", e.text);
    mr_flush_mng(r);
}

/* With memory and journal. arg: node + 3 * milliseconds until it is back, empty. */
static void kill_node(struct mr *r, int arg)
{
    int no = arg % MR_NODES;

    r->crowd = true; /* not all of the line is there until they have come back */
    segtab_free(r->t[no]);
    r->t[no] = NULL;
    for (int k = 0; k < MR_NODES; k++) {
        mr_link_down(r, mr_copy_link(r, no, k), 0);
        mr_link_down(r, mr_copy_link(r, k, no), 0);
    }
    mr_link_down(r, &r->link[no], arg / MR_NODES);
    r->t[no] = mr_node_new();
    r->incarnation[no]++;
    mr_router_up(r, no);
}

static void kill_two(struct mr *r, int arg)
{
    kill_node(r, arg);
    kill_node(r, arg / MR_NODES * MR_NODES + (arg + 1) % MR_NODES);
}

/* ---- stories --------------------------------------------------------------------- */

static void drain(struct mr *r, int node, bool on)
{
    struct err e = { 0 };

    cr_assert_eq(mng_drain(r->m, r->now, mr_name[node], on, &r->out, &e), 0, "%s",
                 e.text);
    mr_flush_mng(r);
}

/* The node of the first segment, as the map has it. */
static int head_node(const struct mr *r)
{
    struct route_owner o;

    cr_assert_eq(routes_owner(r->routes, r->ticket[0].seg, &o), 0);
    return mr_node_no(r, o.node);
}

/* 130 tickets of which most leave, so that four segments are sparse. */
static struct mr *story(const char *name, unsigned what)
{
    struct mr *r = mr_new(name);

    mr_put_queue(r, what & RELEASE ? QUEUE("open", "2") : QUEUE("paused", "2"));
    mr_run(r, 500);
    mr_join(r, 130);
    mr_play(r, 1000);
    if (what & MERGE)
        for (uint32_t i = 0; i < 120; i++)
            if (i % 8 != 1)
                mr_leave(r, i);
    return r;
}

static void go(struct mr *r, unsigned what)
{
    r->armed = 1;
    if (what & MERGE)
        mr_play(r, 3000);
    if (what & DRAIN) {
        drain(r, head_node(r), true);
        mr_play(r, 6000);
    }
}

/* ---- afterwards ------------------------------------------------------------------ */

static void count_move(void *ctx, const void *view)
{
    const struct mng_move_view *v = view;
    struct mr *r = ctx;

    cr_assert_fail(MR_SAY ": move %llu>%llu is still %s", MR_AT(r),
                   (unsigned long long)v->from, (unsigned long long)v->to, v->state);
}

static void count_seg(void *ctx, const void *view)
{
    const struct mng_seg_view *v = view;
    uint64_t *waiting = ctx;

    cr_assert_eq(v->move, 0);
    cr_assert_eq(v->st.move, 0);
    *waiting += v->st.waiting;
}

struct copies {
    struct mr *r;
    uint8_t n[MR_TICKETS];
    uint32_t foreign, total;
};

static void count_copy(void *ctx, seg_id host, seg_id seg, uint32_t number)
{
    struct copies *c = ctx;

    (void)host;
    c->total++;
    for (uint32_t i = 0; i < c->r->n_tickets; i++)
        if (c->r->ticket[i].seg == seg && c->r->ticket[i].number == number) {
            c->n[i]++;
            return;
        }
    c->foreign++;
}

static void at_rest(struct mr *r)
{
    struct copies c = { .r = r };
    uint64_t waiting = 0;

    mng_each_move(r->m, count_move, r);
    if (routes_queue(r->routes, "q", 1) != NULL)
        mng_each_seg(r->m, mr_queue(r), 0, count_seg, &waiting);
    for (int i = 0; i < MR_NODES; i++)
        segtab_each_waiting(r->t[i], count_copy, &c);
    cr_assert_eq(c.foreign, 0);
    cr_assert_eq(waiting, c.total, MR_SAY ": the manager counts %llu of %u", MR_AT(r),
                 (unsigned long long)waiting, c.total);
    for (uint32_t i = 0; i < r->n_tickets; i++)
        cr_assert_leq(c.n[i], 1, MR_SAY ": ticket %u waits twice", MR_AT(r), i);
}

/* At rest positions are exact and the router's map leads to everybody. */
static void places(struct mr *r)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++) {
        struct mr_ticket *k = &r->ticket[i];
        struct place_ans a;

        if (k->left)
            continue;
        cr_assert(mr_poll(r, k, &a), MR_SAY ": nobody knows ticket %u", MR_AT(r), i);
        if (a.state != PLACE_WAITING)
            continue;
        cr_assert_gt(a.position, last, MR_SAY ": ticket %u is at %llu, before it %llu",
                     MR_AT(r), i, (unsigned long long)a.position,
                     (unsigned long long)last);
        last = a.position;
    }
}

static void release_all(struct mr *r)
{
    struct mng_counts c;

    mr_put_queue(r, QUEUE("open", "1000"));
    mr_play(r, 12000);
    for (uint32_t i = 0; i < r->n_tickets; i++)
        cr_assert(r->ticket[i].left || r->ticket[i].admitted || r->may_lose,
                  MR_SAY ": ticket %u was never released", MR_AT(r), i);
    for (uint32_t i = 0, last = 0; i < r->n_tickets; i++) {
        const struct mr_ticket *k = &r->ticket[i];

        if (k->left)
            continue;
        cr_assert_geq(k->released_at_ms, r->ticket[last].released_at_ms,
                      MR_SAY ": ticket %u was released before %u", MR_AT(r), i, last);
        last = i;
    }
    mng_count(r->m, &c);
    cr_assert_leq(c.released, r->n_tickets);
}

struct fault {
    const char *name;
    void (*run)(struct mr *r, int arg);
    int arg;
    bool lossy, gone; /* tickets, the queue */
};

/* false: the story was over before this message. */
static bool once(const char *name, unsigned what, const struct fault *f, uint32_t at)
{
    struct mr *r = story(name, what);
    bool hit;

    r->at = at;
    r->fault = f->run;
    r->arg = f->arg;
    go(r, what);
    hit = r->armed > at;
    r->armed = 0;
    if (hit && !f->gone) {
        mr_play(r, r->crowd ? 80000 : 32000);
        at_rest(r);
        if (!f->lossy)
            places(r);
        release_all(r);
        at_rest(r);
    } else if (hit) {
        mr_run(r, 8000);
        at_rest(r);
        for (int i = 0; i < MR_NODES; i++) {
            struct segtab_counts c;

            segtab_count(r->t[i], &c);
            cr_assert_eq(c.segments, 0, MR_SAY ": a segment of no queue", MR_AT(r));
        }
    }
    mr_free(r);
    return hit;
}

/* Messages between two at which a fault is tried: the slow build tries a part, another of each fault. */
#if defined(__SANITIZE_ADDRESS__)
#define STEP 21u
#else
#define STEP 1u
#endif

/* The fault at every message; of the long story at every third. */
static void everywhere(const char *story_name, unsigned what, const struct fault *f)
{
    static uint32_t shift;
    char name[100];
    uint32_t at = 1 + shift++ % STEP;

    snprintf(name, sizeof(name), "%s, %s (%d):", story_name, f->name, f->arg);
    while (once(name, what, f, at))
        at += (what & RELEASE ? 3 : 1) * STEP;
    cr_assert_gt(at, 20, "%s no messages", name);
}

static void all(const char *name, unsigned what, const struct fault *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        everywhere(name, what, &f[i]);
}

static const struct fault restarts[] = {
    { "manager restarts", mr_restart_manager_in, 0, false, false },
    { "manager restarts", mr_restart_manager_in, 700, false, false },
};
static const struct fault twice[] = {
    { "manager restarts twice", restart_twice, 4, false, false },
    { "manager restarts twice", restart_twice, 11, false, false },
    { "manager restarts twice", restart_twice, 19, false, false },
};
static const struct fault cuts[] = {
    { "manager link", manager_cut, 0, false, false },
    { "manager link", manager_cut, 1, false, false },
    { "manager link", manager_cut, 2, false, false },
    { "manager link", manager_cut, 0 + 3 * 1200, false, false },
    { "manager link", manager_cut, 1 + 3 * 1200, false, false },
    { "copy links", copy_cut, 0, false, false },
    { "copy links", copy_cut, 2500, false, false },
    { "all links", all_cut, 600, false, false },
};
static const struct fault ends[] = {
    { "flush", flush, -1, true, false },
    { "flush and cut", flush, 0, true, false },
    { "flush and cut", flush, 1, true, false },
    { "delete", delete_queue, -1, true, true },
    { "delete and cut", delete_queue, 0, true, true },
    { "delete and cut", delete_queue, 2, true, true },
};
static const struct fault kills[] = {
    { "kill", kill_node, 0, false, false },
    { "kill", kill_node, 1 + 3 * 300, false, false },
    { "kill", kill_node, 2 + 3 * 40000, false, false },
};
static const struct fault two_kills[] = {
    { "kill two", kill_two, 0 + 3 * 100, false, false },
    { "kill two", kill_two, 1 + 3 * 34000, false, false },
};

#define STORY(name, what, faults)                                                        \
    Test(mng_segtab, name, .timeout = 600)                                               \
    {                                                                                    \
        all(#name, what, faults, ARRAY_LEN(faults));                                     \
    }

Test(mng_segtab, without_a_fault)
{
    static const struct fault none = { "nothing", NULL, 0, false, false };
    static const unsigned what[] = { MERGE, DRAIN, MERGE | DRAIN,
                                     MERGE | DRAIN | RELEASE };

    for (size_t i = 0; i < ARRAY_LEN(what); i++) {
        struct mr *r = story("nothing", what[i]);
        struct mng_counts c;

        go(r, what[i]);
        mng_count(r->m, &c);
        cr_assert_gt(c.moves_committed, 0, "story %u", what[i]);
        mr_free(r);
        cr_assert(once("nothing", what[i], &none, 5));
    }
}

/* Two of three have no room although the manager thinks so: the third gets the tail. */
Test(mng_segtab, a_refusing_node_is_not_asked_again)
{
    struct mr *r = mr_new("refused");
    struct route_tail tail;

    r->refuses[0] = r->refuses[1] = true;
    mr_put_queue(r, QUEUE("paused", "2"));
    mr_run(r, 500);
    cr_assert_eq(routes_tail(r->routes, mr_queue(r), 0, &tail), 0);
    cr_assert_eq(mr_node_no(r, tail.node), 2);
    mr_join(r, 60);
    r->refuses[2] = true; /* nobody has room now: asked again after a while */
    r->refuses[0] = false;
    mr_join(r, 15);
    for (int i = 0; i < 6; i++) {
        mr_run(r, 2000);
        mr_poll_all(r); /* within idle and what they were told, or they time out */
    }
    mr_join(r, 30);
    mr_run(r, 2000);
    at_rest(r);
    places(r);
    mr_free(r);
}

STORY(merge_restart, MERGE, restarts)
STORY(drain_restart, DRAIN, restarts)
STORY(both_restart, MERGE | DRAIN | RELEASE, restarts)
STORY(merge_twice, MERGE, twice)
STORY(drain_twice, DRAIN, twice)
STORY(merge_cut, MERGE, cuts)
STORY(drain_cut, DRAIN, cuts)
STORY(both_cut, MERGE | DRAIN | RELEASE, cuts)
STORY(merge_end, MERGE, ends)
STORY(drain_end, DRAIN, ends)
STORY(merge_kill, MERGE, kills)
STORY(drain_kill, DRAIN, kills)
STORY(merge_kill_two, MERGE, two_kills)
STORY(both_kill, MERGE | DRAIN, kills)
