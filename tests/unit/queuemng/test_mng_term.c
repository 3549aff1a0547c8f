/* test_mng_term.c: the core under a lease: the epoch that it is given, and how it learns
 * that nodes obey somebody else. */
#include "queuemng/core/mng.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/versions.h"
#include "tests/lib/quiet.h"

#define PEER 1

struct rig {
    struct mng *m;
    struct mng_out out;
};

static void rig_init(struct rig *r, const char *meta, uint64_t epoch)
{
    const struct mng_opts o = { .seed = 1 };
    struct err e = { 0 };

    quiet_log();
    r->m = mng_new(&o);
    cr_assert_not_null(r->m);
    mng_out_init(&r->out);
    if (meta != NULL)
        cr_assert_eq(mng_load(r->m, "meta", meta, &e), 0, "%s", e.text);
    if (epoch != 0)
        mng_set_epoch(r->m, epoch);
    mng_start(r->m, 1000, 1000, &r->out);
}

static void rig_fini(struct rig *r)
{
    mng_out_fini(&r->out);
    mng_free(r->m);
}

static void node_says(struct rig *r, const struct msg *m)
{
    mng_out_reset(&r->out);
    mng_msg(r->m, 1000, PEER, m, &r->out);
}

static void node_up(struct rig *r, uint64_t epoch_seen)
{
    struct msg m = { .type = MSG_NODE_REG };

    m.node_reg.addr = "127.0.0.1:1";
    m.node_reg.admin = "127.0.0.1:2";
    m.node_reg.epoch_seen = epoch_seen;
    mng_out_reset(&r->out);
    mng_peer_up(r->m, 1000, PEER, RPC_SEGMENT, "seg-a", 7, &r->out);
    node_says(r, &m);
}

static uint64_t epoch_of(const struct rig *r)
{
    struct mng_counts c;

    mng_count(r->m, &c);
    return c.epoch;
}

static const char *put_of(const struct rig *r, const char *key)
{
    for (uint32_t i = 0; i < r->out.n; i++)
        if (r->out.act[i].kind == MNG_PUT && strcmp(r->out.act[i].key, key) == 0)
            return r->out.act[i].val;
    return NULL;
}

#define META "{\"epoch\":6,\"next_seg\":100,\"next_queue\":3,\"next_node\":2}"

Test(mng_term, a_single_manager_raises_its_epoch)
{
    struct rig r;

    rig_init(&r, META, 0);
    cr_expect_eq(epoch_of(&r), 7);
    rig_fini(&r);
}

Test(mng_term, with_a_lease_the_epoch_is_given_and_kept)
{
    struct rig r;

    rig_init(&r, META, 12);
    cr_expect_eq(epoch_of(&r), 12);
    cr_assert_not_null(put_of(&r, "meta"));
    cr_expect_not_null(strstr(put_of(&r, "meta"), "\"epoch\":12,"), "%s", put_of(&r, "meta"));
    rig_fini(&r);
}

Test(mng_term, the_store_of_a_newer_format_is_refused_by_name)
{
    const struct mng_opts o = { .seed = 1 };
    struct mng *m = mng_new(&o);
    struct err e = { 0 };
    char meta[160];

    snprintf(meta, sizeof(meta), "{\"format\":%d,\"epochs\":[6]}", STORE_FORMAT + 1);
    cr_expect_eq(mng_load(m, "meta", meta, &e), SQ_EPROTO);
    snprintf(meta, sizeof(meta), "newer segq (format %d, this one reads up to %d)",
             STORE_FORMAT + 1, STORE_FORMAT);
    cr_expect_not_null(strstr(e.text, meta), "%s", e.text);
    mng_free(m);
}

Test(mng_term, aliases_in_a_circle_are_refused)
{
    static const char *const aliases[] = { "[3,3,50,0,1]", "[3,9,50,0,1],[9,3,50,0,51]",
                                           "[3,9,50,0,1],[4,3,50,0,51],[9,4,50,0,101]" };

    for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
        const struct mng_opts o = { .seed = 1 };
        struct mng *m = mng_new(&o);
        struct err e = { 0 };
        char chain[160];

        snprintf(chain, sizeof(chain), "{\"lanes\":[{\"segs\":[],\"aliases\":[%s]}]}",
                 aliases[i]);
        cr_expect_eq(mng_load(m, "chain/1", chain, &e), SQ_EPROTO, "%s", aliases[i]);
        cr_expect_not_null(strstr(e.text, "chain/1"), "%s", e.text);
        mng_free(m);
    }
}

/* What a newer version of the same format has added is passed over. */
Test(mng_term, unknown_keys_and_records_are_passed_over)
{
    static const char *const stored[][2] = {
        { "meta", "{\"format\":1,\"epoch\":6,\"next_seg\":100,\"next_queue\":3,"
                  "\"next_node\":2,\"new\":1}" },
        { "node/seg-a", "{\"no\":1,\"name\":\"seg-a\",\"draining\":false,\"new\":[]}" },
        { "queue/q", "{\"id\":1,\"version\":4,\"new\":1,"
                     "\"def\":{\"name\":\"q\",\"release_per_s\":7,\"new\":{\"x\":1}}}" },
        { "chain/1", "{\"lanes\":[{\"segs\":[[9,1,1,50,1,0,0,0,\"\",0,1,77]],"
                     "\"aliases\":[[3,9,50,0,51,7]],\"new\":1}],\"flushed\":[0,0],\"lost\":[0,0],\"new\":1}" },
        { "mark/1/0/1", "[[9,0,5,123456,0,77]]" },
        { "new/1", "\"whatever\"" },
    };
    struct rig r;
    struct err e = { 0 };

    rig_init(&r, NULL, 0);
    mng_free(r.m);
    r.m = mng_new(&(struct mng_opts){ .seed = 1 });
    for (size_t i = 0; i < ARRAY_LEN(stored); i++)
        cr_assert_eq(mng_load(r.m, stored[i][0], stored[i][1], &e), 0, "%s", e.text);
    mng_start(r.m, 1000, 1000, &r.out);
    cr_expect_eq(epoch_of(&r), 7);
    cr_assert_not_null(mng_defined(r.m, DEF_QUEUE, "q", NULL));
    cr_expect_eq(((const struct queue_def *)mng_defined(r.m, DEF_QUEUE, "q", NULL))->release_per_s, 7);
    rig_fini(&r);
}

Test(mng_term, a_node_of_this_epoch_changes_nothing)
{
    struct rig r;

    rig_init(&r, META, 12);
    node_up(&r, 12);
    cr_expect_eq(mng_fenced_by(r.m), 0);
    rig_fini(&r);
}

Test(mng_term, a_node_that_has_seen_a_higher_epoch_fences_us)
{
    struct rig r;

    rig_init(&r, META, 12);
    node_up(&r, 15);
    cr_expect_eq(mng_fenced_by(r.m), 15);
    rig_fini(&r);
}

Test(mng_term, a_router_with_a_map_of_a_higher_epoch_fences_us)
{
    struct msg m = { .type = MSG_ROUTER_REG };
    struct rig r;

    rig_init(&r, META, 12);
    m.router_reg.map_epoch = 13;
    mng_out_reset(&r.out);
    mng_peer_up(r.m, 1000, PEER, RPC_ROUTER, "router", 7, &r.out);
    node_says(&r, &m);
    cr_expect_eq(mng_fenced_by(r.m), 13);
    rig_fini(&r);
}

Test(mng_term, a_node_that_obeys_another_under_our_epoch_fences_us)
{
    struct msg m = { .type = MSG_ERROR };
    struct rig r;

    rig_init(&r, META, 12);
    node_up(&r, 12);
    m.error.code = SQ_EUNAVAIL;
    m.error.about = MSG_SEG_OPEN;
    m.error.text = "no room";
    node_says(&r, &m);
    cr_expect_eq(mng_fenced_by(r.m), 0, "another error");
    m.error.code = SQ_ESTALE;
    m.error.about = MSG_SEG_POP;
    node_says(&r, &m);
    cr_expect_eq(mng_fenced_by(r.m), 12);
    rig_fini(&r);
}

static unsigned orders_to(const struct rig *r, uint32_t peer)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < r->out.box.n; i++)
        n += r->out.box.v[i].to == peer;
    return n;
}

Test(mng_term, a_node_of_another_store_gets_no_orders)
{
    struct msg m = { .type = MSG_NODE_REG };
    struct mng_counts c;
    struct rig r;

    rig_init(&r, NULL, 0);
    cr_expect_not_null(strstr(put_of(&r, "meta"), "\"store\":"), "%s", put_of(&r, "meta"));
    cr_expect_not(mng_is_foreign(r.m), "as long as there is no node");
    m.node_reg.addr = "127.0.0.1:1";
    m.node_reg.admin = "127.0.0.1:2";
    m.node_reg.store = 5;
    mng_out_reset(&r.out);
    mng_peer_up(r.m, 1000, PEER, RPC_SEGMENT, "seg-a", 7, &r.out);
    node_says(&r, &m);
    cr_expect_eq(orders_to(&r, PEER), 0);
    cr_expect(mng_is_foreign(r.m));
    mng_count(r.m, &c);
    cr_expect_eq(c.nodes_foreign, 1);
    m = (struct msg) { .type = MSG_SEG_STATUS };
    m.seg_status.full = true;
    m.seg_status.n = 1;
    m.seg_status.v = &(struct seg_status) { .seg = 3 };
    node_says(&r, &m);
    cr_expect_eq(orders_to(&r, PEER), 0, "least of all to forget what it has");
    rig_fini(&r);
}
