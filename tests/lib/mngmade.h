/* mngmade.h: a manager made by hand: one queue, and nodes and segments as a test wants them. No
 * node answers; what was sent is looked at. For tests of one file of queuemng/state, chain,
 * release or nodes. */
#ifndef SEGQ_TESTS_MNGMADE_H
#define SEGQ_TESTS_MNGMADE_H

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "queuemng/chain/lifecycle.h"
#include "queuemng/core/mng.h"
#include "queuemng/state/node.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"
#include "tests/lib/quiet.h"

#define MADE_NOW 1000000

struct made {
    struct mng *m;
    struct mng_out out;
    struct mqueue *q;
    struct mlane *l; /* its first */
};

/* A new step at now_ms: nothing was sent in it. */
static inline void made_step(struct made *w, msec_t now_ms)
{
    mng_out_reset(&w->out);
    mng_begin(w->m, now_ms, &w->out);
}

/* keys: more of the definition, like "\"merge\": true"; lanes open no tails by themselves. */
static inline void made_new(struct made *w, const char *keys)
{
    char json[500];
    struct cfg_node *doc = NULL;
    struct queue_def d = { 0 };
    struct err e = { 0 };

    quiet_log();
    memset(w, 0, sizeof(*w));
    w->m = mng_new(&(struct mng_opts){ .seed = 1 });
    mng_out_init(&w->out);
    w->m->started = true;
    w->m->epoch = 1;
    w->m->next_seg = 1;
    w->m->seg_reserved = 1000;
    snprintf(json, sizeof(json), "{\"name\": \"q\", \"release_per_s\": 0.001, %s}", keys);
    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", &e), 0, "%s", e.text);
    cr_assert_eq(mng_define(w->m, DEF_QUEUE, MADE_NOW, &d, &w->out, &e), 0, "%s", e.text);
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
    w->q = queue_find(w->m, "q");
    w->l = &w->q->lane[0];
    w->q->def.state = DEF_CLOSED;
    made_step(w, MADE_NOW);
}

static inline void made_free(struct made *w)
{
    mng_free(w->m);
    mng_out_fini(&w->out);
}

/* Up, registered, empty; its peer number is its own. */
static inline struct mnode *made_node(struct made *w, const char *name)
{
    struct mnode *n = node_new(w->m, w->m->next_node, name);

    cr_assert_not_null(n);
    n->peer = n->no;
    n->registered = true;
    n->heard_ms = w->m->now_ms;
    n->max_tickets = 1000000;
    n->max_segments = 1000;
    return n;
}

static inline void made_node_down(struct made *w, struct mnode *n, msec_t since_ms)
{
    (void)w;
    n->peer = 0;
    n->registered = false;
    n->down_ms = since_ms;
}

/* At the end of the chain; reported as open, with capacity 100. */
static inline struct mseg *made_open(struct made *w, struct mnode *n, uint32_t joined,
                                     uint32_t waiting)
{
    struct mseg *s = seg_new(w->m, w->l, n, seg_id_take(w->m), 100, OPEN_TAIL, NULL);

    cr_assert_not_null(s);
    seg_set_phase(s, SEG_REPORTED);
    s->st.joined = joined;
    s->st.waiting = waiting;
    s->st.ahead = AHEAD_UNKNOWN;
    seg_used(s);
    w->l->waiting += waiting;
    return s;
}

/* The same, sealed. */
static inline struct mseg *made_sealed(struct made *w, struct mnode *n, uint32_t joined,
                                       uint32_t waiting)
{
    struct mseg *s = made_open(w, n, joined, waiting);

    s->state = s->st.state = SEG_SEALED;
    seg_used(s);
    return s;
}

/* The last message of this step of that type; NULL: none. *to (NULL ok): its peer. */
static inline const struct msg *made_sent(const struct made *w, enum msg_type t, peer_no *to)
{
    for (uint32_t i = w->out.box.n; i-- > 0;)
        if (w->out.box.v[i].m.type == t) {
            if (to != NULL)
                *to = w->out.box.v[i].to;
            return &w->out.box.v[i].m;
        }
    return NULL;
}

/* The suite of a file: each test has its manager `w` with the nodes `a` and `b`. keys: as in
 * made_new(); behind them what else is to be done before each test. */
#define MADE_SUITE(suite, keys, ...)                                                     \
    static struct made w;                                                                \
    static struct mnode *a, *b;                                                          \
    static void setup(void)                                                              \
    {                                                                                    \
        made_new(&w, keys);                                                              \
        a = made_node(&w, "a");                                                          \
        b = made_node(&w, "b");                                                          \
        __VA_ARGS__;                                                                     \
    }                                                                                    \
    static void teardown(void)                                                           \
    {                                                                                    \
        made_free(&w);                                                                   \
    }                                                                                    \
    TestSuite(suite, .init = setup, .fini = teardown)

#endif
