/* test_mng_draw.c: a queue that opens by the clock, with early ones: the manager core and
 * the nodes' core together, with one fault at every message around the opening. One draw,
 * the same for everybody, checked with the seed that was published; then everybody is
 * released in the order that was drawn. */
#include "tests/lib/mngrig.h"

#include <jansson.h>
#include <sodium.h>

#include "common/ticket/draw.h"

/* The rig's clock begins at 22:13:20Z. */
#define QUEUE(state, rate)                                                               \
    "{\"name\": \"q\", \"state\": \"" state "\", \"release_per_s\": " rate ", "          \
    "\"opens_at\": \"2023-11-14T23:13:40+01:00\", \"prequeue\": \"15s\", "               \
    "\"prequeue_capacity\": 100, \"segment_capacity\": 40, \"merge\": true, "            \
    "\"claim\": \"60s\", \"grace\": \"60s\", \"poll_max\": \"4s\", \"pass_ttl\": \"10m\", " \
    "\"idle\": {\"game\": \"12s\", \"mobile\": \"12s\", \"browser\": \"12s\"}}"

#define OPENS_MS 1700000020000
#define EARLY    130

static const struct route_queue *queue_of(const struct mr *r)
{
    const struct route_queue *q = routes_queue(r->routes, "q", 1);

    cr_assert_not_null(q);
    return q;
}

static json_t *draw_of(const struct mr *r)
{
    json_t *j = json_loads(queue_of(r)->map.when.draw, 0, NULL);

    cr_assert_not_null(j, MR_SAY ": draw %s", MR_AT(r), queue_of(r)->map.when.draw);
    return j;
}

static const char *text_of(const json_t *j, const char *name)
{
    const char *s = json_string_value(json_object_get(j, name));

    return s != NULL ? s : "";
}

/* ---- the story --------------------------------------------------------------------- */

static char commitment[DRAW_HEX + 1];

/* Early ones are in; nobody knows a place. More than one segment takes. */
static struct mr *story(const char *name)
{
    struct mr *r = mr_new(name);
    struct err e = { 0 };
    json_t *j;

    mr_put_queue(r, QUEUE("paused", "2"));
    mr_run(r, 1000);
    cr_assert_eq(queue_of(r)->map.state, QUEUE_CLOSED);
    cr_assert_eq(queue_of(r)->map.when.phase, PHASE_EARLY);
    cr_assert_eq(queue_of(r)->map.when.opens_ms, OPENS_MS);
    j = draw_of(r);
    snprintf(commitment, sizeof(commitment), "%s", text_of(j, "commitment"));
    cr_assert_eq(strlen(commitment), DRAW_HEX);
    cr_assert_str_eq(text_of(j, "seed"), "", "nobody knows it yet");
    json_decref(j);
    while (queue_of(r)->map.when.phase == PHASE_EARLY)
        mr_run(r, 100);
    cr_assert_eq(queue_of(r)->map.when.phase, PHASE_PREQUEUE);
    cr_assert_leq(r->wall, OPENS_MS - 14000);
    cr_assert_eq(mng_release(r->m, r->now, "q", 5, &r->out, &e), SQ_ECONFLICT);
    mr_join(r, EARLY);
    for (uint32_t i = 0; i < EARLY; i += 8)
        mr_leave(r, i);
    mr_play(r, 2000);
    for (uint32_t i = 0; i < EARLY; i++)
        cr_assert_eq(r->ticket[i].position, 0, "nobody has a place");
    return r;
}

/* To a moment before the opening, and past it. */
static void open_it(struct mr *r)
{
    while (r->wall < OPENS_MS - 200)
        mr_play(r, 100);
    r->armed = 1;
    mr_play(r, 2500);
}

/* ---- the check: what anybody can do ------------------------------------------------- */

static int64_t rank_of(const json_t *segs, const uint8_t *seed, const struct mr_ticket *k)
{
    const json_t *s;
    int64_t place = -1;
    size_t i;

    json_array_foreach(segs, i, s) {
        json_int_t id, n;
        struct draw *d;

        cr_assert_eq(json_unpack((json_t *)(uintptr_t)s, "{s:I,s:I}", "segment", &id, "count",
                                 &n), 0);
        if ((seg_id)id != k->seg)
            continue;
        cr_assert_lt(place, 0, "a segment is drawn once");
        d = draw_new((uint64_t)id, (uint32_t)n, seed);
        cr_assert_lt(k->number, n);
        place = (int64_t)i * 1000000 + draw_place(d, k->number);
        draw_free(d);
    }
    return place;
}

static struct {
    int64_t rank;
    struct mr_ticket k;
} line[MR_TICKETS];

static int by_rank(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* From now on the rig knows them in the order that the published seed gives. */
static void learn_order(struct mr *r)
{
    json_t *j = draw_of(r);
    uint8_t seed[DRAW_SEED], hash[DRAW_SEED];
    char hex[DRAW_HEX + 1];
    uint32_t moved = 0;
    size_t n;

    cr_assert_eq(sodium_hex2bin(seed, sizeof(seed), text_of(j, "seed"), DRAW_HEX, NULL, &n,
                                NULL), 0, MR_SAY ": seed %s", MR_AT(r), text_of(j, "seed"));
    draw_commitment("q", seed, hash);
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    cr_assert_str_eq(hex, commitment, MR_SAY ": another seed than promised", MR_AT(r));
    cr_assert_str_eq(text_of(j, "commitment"), commitment);
    for (uint32_t i = 0; i < EARLY; i++) {
        line[i].k = r->ticket[i];
        line[i].rank = rank_of(json_object_get(j, "segments"), seed, &r->ticket[i]);
        cr_assert_geq(line[i].rank, 0, MR_SAY ": segment %llu is not in the draw", MR_AT(r),
                      (unsigned long long)r->ticket[i].seg);
    }
    qsort(line, EARLY, sizeof(line[0]), by_rank);
    for (uint32_t i = 0; i < EARLY; i++) {
        moved += r->ticket[i].number != line[i].k.number;
        r->ticket[i] = line[i].k;
    }
    cr_assert_gt(moved, EARLY / 2);
    r->first_waiting = 0;
    json_decref(j);
}

/* Everybody's place is that of the draw, and who comes now is behind. */
static void places(struct mr *r)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++) {
        struct place_ans a;

        if (r->ticket[i].left)
            continue;
        cr_assert(mr_poll(r, &r->ticket[i], &a));
        cr_assert_eq(a.state, PLACE_WAITING, MR_SAY ": ticket %u: %u", MR_AT(r), i, a.state);
        cr_assert_gt(a.position, last, MR_SAY ": ticket %u is at %llu, before it %llu",
                     MR_AT(r), i, (unsigned long long)a.position, (unsigned long long)last);
        last = a.position;
    }
}

static bool all_have_places(struct mr *r)
{
    for (uint32_t i = 0; i < r->n_tickets; i++) {
        struct place_ans a;

        if (!r->ticket[i].left && (!mr_poll(r, &r->ticket[i], &a) || a.position == 0))
            return false;
    }
    return true;
}

/* A tail that was opened, but not said to be, is found again first. */
static void wait_for_places(struct mr *r)
{
    for (int i = 0; i < 400 && !all_have_places(r); i++)
        mr_play(r, 100);
    cr_assert(all_have_places(r), MR_SAY ": there was no draw", MR_AT(r));
}

static void release_all(struct mr *r)
{
    mr_put_queue(r, QUEUE("open", "40"));
    for (int i = 0; i < 300; i++) {
        bool all = true;

        mr_play(r, 100);
        for (uint32_t k = 0; k < r->n_tickets; k++)
            all = all && (r->ticket[k].left || r->ticket[k].admitted);
        if (all)
            break;
    }
    for (uint32_t i = 0, last = 0; i < r->n_tickets; i++) {
        const struct mr_ticket *k = &r->ticket[i];

        if (k->left)
            continue;
        cr_assert(k->admitted, MR_SAY ": ticket %u was never released", MR_AT(r), i);
        cr_assert_geq(k->released_at_ms, r->ticket[last].released_at_ms,
                      MR_SAY ": ticket %u was released before %u", MR_AT(r), i, last);
        last = i;
    }
}

static void to_the_end(struct mr *r)
{
    wait_for_places(r);
    learn_order(r);
    mr_join(r, 20);
    wait_for_places(r);
    places(r);
    release_all(r);
}

/* ---- faults -------------------------------------------------------------------------- */

static void manager_restart(struct mr *r, int wall_ms)
{
    mr_restart_manager(r);
    r->wall += wall_ms;
}

static void nodes_cut(struct mr *r, int ms)
{
    for (int i = 0; i < MR_NODES; i++)
        mr_link_down(r, &r->link[i], ms);
}

/* With memory and journal. */
static void kill_node(struct mr *r, int no)
{
    r->crowd = true; /* not all of the line is there until they have come back */
    mr_lose(r, no);
}

struct fault {
    const char *name;
    void (*run)(struct mr *r, int arg);
    int arg;
};

/* false: the story was over before this message. */
static bool once(const struct fault *f, uint32_t at)
{
    struct mr *r = story(f->name);
    bool hit;

    r->fault = f->run;
    r->arg = f->arg;
    r->at = at;
    open_it(r);
    hit = r->armed > at;
    r->fault = NULL;
    if (hit)
        to_the_end(r);
    mr_free(r);
    return hit;
}

static void everywhere(const struct fault *f)
{
    uint32_t at = 1;

    while (once(f, at))
        at++;
    cr_assert_gt(at, 10, "%s: only %u messages", f->name, at);
}

TestSuite(mng_draw, .timeout = 120);

Test(mng_draw, the_prequeue_is_drawn_and_released_in_drawn_order)
{
    struct mr *r = story("draw");

    open_it(r);
    to_the_end(r);
    mr_free(r);
}

Test(mng_draw, the_manager_restarts_at_any_message)
{
    everywhere(&(struct fault){ "manager", manager_restart, 0 });
}

/* Its clock is behind the old one's: the queue stays open, and is not drawn again. */
Test(mng_draw, the_next_manager_has_another_clock)
{
    everywhere(&(struct fault){ "clock", manager_restart, -3600000 });
}

Test(mng_draw, links_break_at_any_message)
{
    everywhere(&(struct fault){ "cut", nodes_cut, 700 });
}

Test(mng_draw, a_node_is_lost_with_everything_at_any_message)
{
    for (int i = 0; i < MR_NODES; i++)
        everywhere(&(struct fault){ "lost", kill_node, i });
}

/* The draw was; then the node goes: its people come back to the places that they drew. */
Test(mng_draw, places_are_kept_when_a_node_is_lost_later)
{
    for (int i = 0; i < MR_NODES; i++) {
        struct mr *r = story("later");

        open_it(r);
        wait_for_places(r);
        learn_order(r);
        kill_node(r, i);
        mr_play(r, 500);
        wait_for_places(r);
        places(r);
        release_all(r);
        mr_free(r);
    }
}

/* Before the opening, with the early ones in it. */
Test(mng_draw, early_ones_come_back_to_a_lost_segment_and_draw)
{
    for (int i = 0; i < MR_NODES; i++) {
        struct mr *r = story("early");

        kill_node(r, i);
        open_it(r);
        to_the_end(r);
        mr_free(r);
    }
}

/* Put off while people are there: they keep what they have, and draw later. */
Test(mng_draw, an_opening_is_put_off)
{
    struct mr *r = story("put off");
    char later[sizeof(QUEUE("paused", "2"))];

    memcpy(later, QUEUE("paused", "2"), sizeof(later));
    memcpy(strstr(later, "23:13:40"), "23:14:10", 8);
    mr_put_queue(r, later);
    mr_run(r, 200);
    cr_assert_eq(queue_of(r)->map.when.phase, PHASE_EARLY);
    cr_assert_eq(queue_of(r)->map.state, QUEUE_CLOSED);
    while (queue_of(r)->map.when.phase != PHASE_PREQUEUE)
        mr_play(r, 100);
    cr_assert_geq(r->wall, OPENS_MS + 30000 - 15000);
    mr_join(r, 1);
    r->n_tickets--; /* one more, whom we forget: he expires */
    r->may_lose = true;
    while (queue_of(r)->map.when.phase == PHASE_PREQUEUE)
        mr_play(r, 100);
    cr_assert_geq(r->wall, OPENS_MS + 30000);
    wait_for_places(r);
    learn_order(r);
    places(r);
    mr_free(r);
}

/* By a second, amid the pre-queue: the nodes close at the new time, and not at the old. */
Test(mng_draw, another_opening_closes_the_early_ones_then)
{
    struct mr *r = story("another time");
    char later[sizeof(QUEUE("paused", "2"))];
    struct route_tail before, after;

    memcpy(later, QUEUE("paused", "2"), sizeof(later));
    memcpy(strstr(later, "23:13:40"), "23:13:41", 8);
    cr_assert_eq(routes_tail(r->routes, mr_queue(r), 0, &before), 0);
    mr_put_queue(r, later);
    mr_run(r, 300);
    cr_assert_eq(queue_of(r)->map.when.phase, PHASE_PREQUEUE);
    while (r->wall < OPENS_MS + 500)
        mr_play(r, 100);
    cr_assert_eq(routes_tail(r->routes, mr_queue(r), 0, &after), 0);
    cr_assert_eq(after.seg, before.seg, "it is joined on");
    while (queue_of(r)->map.when.phase == PHASE_PREQUEUE)
        mr_play(r, 100);
    cr_assert_geq(r->wall, OPENS_MS + 1000);
    to_the_end(r);
    mr_free(r);
}
