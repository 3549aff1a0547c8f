/* test_mng.c: the manager core against nodes that do as they are told (tests/sim has the
 * real ones). What is stored, what is ordered, what a restart remembers. */
#include "tests/lib/mngfake.h"
#include "queuemng/state/queue.h"

static uint64_t lane_waiting;
static size_t lane_segs;
static void on_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *v = view;

    (void)ctx;
    lane_waiting = v->waiting;
    lane_segs = v->n_segs;
}

static void look(struct world *w)
{
    mng_each_lane(w->m, 0, on_lane, NULL);
}

#define SMALL "\"segment_capacity\":50,\"merge\":false"

/* ---- stories --------------------------------------------------------------------- */

Test(mng, successor_is_open_before_the_tail_is_full)
{
    struct world *w = world_new(2);

    router_join(w);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001," SMALL "}");
    cr_assert_eq(w->map_open, 1);
    join(w, 45);
    cr_assert_eq(w->map_open, 2, "open: %u", w->map_open);
    join(w, 205);
    look(w);
    cr_assert_eq(lane_waiting, 250);
    cr_assert_geq(lane_segs, 6);
    world_free(w);
}

Test(mng, releases_in_order_at_the_rate_and_removes_empty_segments)
{
    struct world *w = world_new(2);

    put_queue(w, "{\"name\":\"q\",\"release_per_s\":100," SMALL "}");
    join(w, 200);
    w->popped = 0;
    uint64_t before = w->popped;
    tick(w, 10);
    cr_assert(w->popped - before >= 99 && w->popped - before <= 110, "%llu",
              (unsigned long long)(w->popped - before));
    tick(w, 30);
    look(w);
    cr_assert_eq(lane_waiting, 0);
    cr_assert_geq(w->removed, 3);
    world_free(w);
}

Test(mng, restart_remembers_chain_epoch_and_queue)
{
    struct world *w = world_new(2);
    size_t segs;
    struct mng_counts c;

    put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001," SMALL "}");
    join(w, 220);
    look(w);
    segs = lane_segs;
    mng_free(w->m);
    manager_start(w);
    mng_count(w->m, &c);
    cr_assert_eq(c.epoch, 2);
    router_join(w);
    cr_assert_eq(w->map_segs, segs, "the map is there before any node is");
    node_join(w, 0);
    node_join(w, 1);
    tick(w, 3);
    look(w);
    cr_assert_eq(lane_waiting, 220);
    cr_assert_eq(lane_segs, segs, "nothing new was opened: %zu %zu", lane_segs, segs);
    join(w, 100);
    look(w);
    cr_assert_eq(lane_waiting, 320);
    world_free(w);
}

Test(mng, sparse_neighbours_are_merged)
{
    struct world *w = world_new(2);
    struct mng_counts c;

    router_join(w);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001,\"segment_capacity\":50}");
    join(w, 150);
    for (unsigned i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < w->node[i].n; k++)
            if (w->node[i].v[k].state == SEG_SEALED)
                w->node[i].v[k].waiting = 20;
        report(w, &w->node[i], false, 0);
    }
    tick(w, 30);
    mng_count(w->m, &c);
    cr_assert_eq(c.moves_committed, 1, "%llu", (unsigned long long)c.moves_committed);
    cr_assert_eq(w->map_aliases, 1);
    look(w);
    cr_assert_eq(lane_waiting, 60);
    world_free(w);
}

Test(mng, drain_empties_a_node)
{
    struct world *w = world_new(2);
    struct err e = { 0 };

    router_join(w);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001," SMALL "}");
    join(w, 230);
    cr_assert_gt(w->node[0].n, 0);
    cr_assert_eq(mng_drain(w->m, w->now, "seg-a", true, &w->out, &e), 0);
    run(w);
    tick(w, 100);
    cr_assert_eq(w->node[0].n, 0, "%u left", w->node[0].n);
    look(w);
    cr_assert_eq(lane_waiting, 230);
    world_free(w);
}

static void on_queue(void *ctx, const void *view)
{
    *(double *)ctx = ((const struct mng_queue_view *)view)->allowed_per_s;
}

static double allowed_at(struct world *w, double load)
{
    double allowed = -1;

    w->now += 100;
    mng_reading(w->m, w->now, "load", load, w->now);
    tick(w, 1);
    mng_each_queue(w->m, on_queue, &allowed);
    return allowed;
}

/* Nobody waits, so the queue has no ticks: what it shows follows the load all the same, and
 * better only when clearly below the border. */
Test(mng, an_idle_queue_has_hysteresis)
{
    struct world *w = world_new(1);

    put_queue(w, "{\"name\":\"q\",\"hysteresis\":5,\"limits\":"
                 "[{\"metric\":\"load\",\"tiers\":[{\"below\":50,\"rate_per_s\":200},"
                 "{\"below\":80,\"rate_per_s\":20}]}]}");
    tick(w, 100);
    cr_expect_eq(allowed_at(w, 10), 200);
    cr_expect_eq(allowed_at(w, 60), 20);
    cr_expect_eq(allowed_at(w, 48), 20, "48 is not 5 below 50");
    cr_expect_eq(allowed_at(w, 44), 200);
    cr_expect_eq(allowed_at(w, 90), 0);
    cr_expect_eq(allowed_at(w, 78), 0);
    world_free(w);
}

/* A rush has left several open segments. The last of them is on one of the two nodes: that
 * one is emptied, too, though there is room enough in the others. */
Test(mng, drain_empties_a_node_with_many_tails)
{
    for (unsigned closed = 0; closed < 2; closed++)
        for (unsigned i = 0; i < 2; i++) {
            struct world *w = world_new(2);
            struct err e = { 0 };

            router_join(w);
            put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001," SMALL "}");
            join(w, 230);
            tick(w, 100); /* the rush is over */
            join(w, 1);
            if (closed)
                put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001,"
                             "\"state\":\"closed\"," SMALL "}");
            cr_assert_eq(mng_drain(w->m, w->now, w->node[i].name, true, &w->out, &e), 0);
            run(w);
            tick(w, 100);
            cr_expect_eq(w->node[i].n, 0, "closed %u: %s: %u left", closed, w->node[i].name,
                         w->node[i].n);
            look(w);
            cr_expect_eq(lane_waiting, 231);
            world_free(w);
        }
}

Test(mng, a_wiped_node_loses_only_its_segments)
{
    struct world *w = world_new(2);
    uint64_t left;

    router_join(w);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001," SMALL "}");
    join(w, 200);
    left = 0;
    for (uint32_t k = 0; k < w->node[1].n; k++)
        left += w->node[1].v[k].waiting;
    mng_peer_down(w->m, w->now, w->node[0].peer, &w->out);
    run(w);
    w->node[0].peer = 20;
    w->node[0].incarnation = 2;
    w->node[0].n = 0;
    node_join(w, 0);
    tick(w, 5);
    look(w);
    cr_assert_eq(lane_waiting, left);
    cr_assert_geq(w->map_open, 1, "joins go on");
    world_free(w);
}

Test(mng, foreign_segment_is_forgotten)
{
    struct world *w = world_new(1);

    w->node[0].v[w->node[0].n++] =
        (struct seg_status){ .seg = 4711, .queue = 9, .state = SEG_SEALED, .waiting = 3 };
    report(w, &w->node[0], false, 0);
    tick(w, 1);
    cr_assert_null(seg_at(&w->node[0], 4711));
    world_free(w);
}

Test(mng, ids_of_foreign_segments_are_not_given_again)
{
    struct world *w = world_new(1);

    w->node[0].v[w->node[0].n++] =
        (struct seg_status){ .seg = 4711, .queue = 9, .state = SEG_SEALED, .waiting = 3 };
    report(w, &w->node[0], false, 0);
    tick(w, 1);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":1000," SMALL "}");
    run(w);
    cr_assert_gt(w->node[0].n, 0);
    for (uint32_t i = 0; i < w->node[0].n; i++)
        cr_expect_gt(w->node[0].v[i].seg, 4711);
    world_free(w);
}

/* The check of a definition lets none be so long. Without a map the router would have had no queue at all. */
Test(mng, a_page_that_no_router_takes_is_left_out_of_the_map)
{
    struct world *w = world_new(1);
    struct page_def *p;

    put_queue(w, "{\"name\":\"r\"," SMALL "}");
    put_queue(w, "{\"name\":\"q\",\"page\":{\"message\":\"at ten\"}," SMALL "}");
    p = &queue_find(w->m, "q")->def.page;
    free(p->style);
    p->style = calloc(1, PAGE_JSON_MAX + 1);
    cr_assert_not_null(p->style);
    memset(p->style, 'x', PAGE_JSON_MAX);
    strcpy(w->page, "-");
    router_join(w);
    cr_expect_gt(w->map_version, 0);
    cr_expect_eq(w->map_segs, 1);
    cr_expect_str_eq(w->page, "");
    world_free(w);
}

/* A part of a map was sent, which said that more would come. */
Test(mng, without_memory_no_part_of_a_map_is_sent)
{
    struct world *w = world_new(1);
    struct msg reg = { .type = MSG_ROUTER_REG, .router_reg = { .http = "", .admin = "" } };

    put_queue(w, "{\"name\":\"q\"," SMALL "}");
    w->router = 99;
    mng_peer_up(w->m, w->now, 99, 1, "r0", 1, &w->out);
    run(w);
    w->out.box.mem.failed = true;
    mng_msg(w->m, w->now, 99, &reg, &w->out);
    for (uint32_t i = 0; i < w->out.box.n; i++)
        cr_expect_neq(w->out.box.v[i].m.type, MSG_MAP);
    run(w);
    cr_expect_eq(w->map_version, 0);
    tick(w, 1);
    cr_expect_gt(w->map_version, 0, "with the next step");
    world_free(w);
}

/* The page's words go to routers, are kept, and change alone. */
Test(mng, words_of_the_page_are_told_and_kept)
{
    struct world *w = world_new(1);

    router_join(w);
    put_queue(w, "{\"name\":\"q\"," SMALL "}");
    cr_expect_str_eq(w->page, "");
    put_queue(w, "{\"name\":\"q\",\"page\":{\"message\":\"at ten\"}," SMALL "}");
    cr_expect(strstr(w->page, "\"message\":\"at ten\"") != NULL, "%s", w->page);
    mng_free(w->m);
    manager_start(w);
    w->page[0] = '\0';
    router_join(w);
    cr_expect(strstr(w->page, "\"message\":\"at ten\"") != NULL, "%s", w->page);
    put_queue(w, "{\"name\":\"q\",\"page\":{\"message\":\"\"},\"message\":\"now\"," SMALL "}");
    cr_expect_str_eq(w->page, "");
    cr_expect_str_eq(w->message, "now");
    world_free(w);
}

/* Else who polls in the second after a pause is told that it is his turn in a second. */
Test(mng, a_pause_is_told_with_its_step)
{
    struct world *w = world_new(1);
    struct err e = { 0 };

    router_join(w);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":1,\"max_waiting\":600," SMALL "}");
    run(w);
    join(w, 50);
    tick(w, 30);
    cr_assert_gt(w->told.rate_milli_per_s, 0);
    cr_assert_eq(mng_order(w->m, w->now, "q", MNG_PAUSE, &w->out, &e), 0);
    run(w);
    cr_expect_eq(w->told.rate_milli_per_s, 0);
    cr_expect_eq(w->told.eta_reason, ETA_PAUSED);
    cr_assert_eq(mng_order(w->m, w->now, "q", MNG_RESUME, &w->out, &e), 0);
    run(w);
    tick(w, 20);
    cr_expect_gt(w->told.rate_milli_per_s, 0);
    world_free(w);
}

Test(mng, delete_pause_close_full)
{
    struct world *w = world_new(1);
    struct err e = { 0 };
    struct mng_deleted_view gone;

    router_join(w);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":1000,\"max_waiting\":60," SMALL "}");
    cr_assert_eq(mng_order(w->m, w->now, "q", MNG_PAUSE, &w->out, &e), 0);
    run(w);
    cr_assert_eq(w->queue_state, QUEUE_PAUSED);
    join(w, 70);
    cr_assert_eq(w->popped, 0);
    cr_assert_eq(w->queue_state, QUEUE_FULL);
    cr_assert_eq(mng_release(w->m, w->now, "q", 20, &w->out, &e), 0);
    run(w);
    tick(w, 2);
    cr_assert_eq(w->popped, 20, "%llu", (unsigned long long)w->popped);
    cr_assert_eq(w->queue_state, QUEUE_PAUSED);
    cr_assert_eq(mng_order(w->m, w->now, "q", MNG_CLOSE, &w->out, &e), 0);
    run(w);
    cr_assert_eq(w->queue_state, QUEUE_CLOSED);
    cr_assert_eq(w->queue_phase, PHASE_PLAIN);
    cr_assert_eq(mng_order(w->m, w->now, "q", MNG_REJECT, &w->out, &e), 0);
    run(w);
    cr_assert_eq(w->queue_state, QUEUE_CLOSED);
    cr_assert_eq(w->queue_phase, PHASE_REJECT);
    tick(w, 20);
    cr_assert_eq(w->popped, 20, "nobody more");
    cr_assert_eq(mng_order(w->m, w->now, "q", MNG_PASSTHROUGH, &w->out, &e), 0);
    run(w);
    cr_assert_eq(w->queue_phase, PHASE_PASSTHROUGH);
    tick(w, 3);
    cr_assert_eq(w->popped, 70, "all of them, %llu", (unsigned long long)w->popped);
    cr_assert_eq(w->queue_state, QUEUE_OPEN);
    cr_assert_eq(mng_queue_delete(w->m, w->now, "q", true, &gone, &w->out, &e), 0);
    run(w);
    tick(w, 2);
    cr_assert_eq(w->node[0].n, 0);
    cr_assert_eq(mng_queue_delete(w->m, w->now, "q", true, &gone, &w->out, &e), SQ_EUNKNOWN);
    mng_free(w->m);
    manager_start(w);
    cr_assert_null(mng_defined(w->m, DEF_QUEUE, "q", NULL));
    world_free(w);
}

Test(mng, ten_thousand_queues_cost_one_record_each)
{
    struct world *w = world_new(1);
    struct mng_counts c;

    router_join(w);
    w->node[0].mute = true; /* the fake has room for few; the orders are what counts */
    for (int i = 0; i < 10000; i++) {
        char json[64];

        snprintf(json, sizeof(json), "{\"name\":\"q%d\"}", i);
        while (w->n_keys > 0) { /* do not keep them: the array is small */
            free(w->key[--w->n_keys]);
            free(w->val[w->n_keys]);
        }
        put_queue(w, json);
    }
    mng_count(w->m, &c);
    cr_assert_eq(c.queues, 10000);
    cr_assert_neq(w->last_from, 0, "changes only");
    tick(w, 20);
    world_free(w);
}

Test(mng, room_that_a_rush_did_not_use_goes_after_a_minute)
{
    struct world *w = world_new(2);

    router_join(w);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001," SMALL "}");
    for (int s = 0; s < 3; s++) { /* 300 a second: six segments ahead of them */
        join(w, 300);
        tick(w, 10);
    }
    cr_assert_geq(w->map_open, 6, "%u", w->map_open);
    tick(w, 550);
    cr_expect_geq(w->map_open, 3, "a crowd comes in waves: %u", w->map_open);
    tick(w, 600);
    cr_expect_leq(w->map_open, 2, "%u are open and empty", w->map_open);
    join(w, 120);
    look(w);
    cr_expect_eq(lane_waiting, 1020, "what is left leads to what is opened");
    world_free(w);
}
