/* fuzz_replica.c: a hostile segment node. Whatever it pushes, a router's replica keeps its bound,
 * refuses nothing but by SQ_EPROTO, after which the link is closed, and tells only places that
 * follow from its own bits. Bytes: steps, each a byte and its numbers. */
#include <stdlib.h>
#include <string.h>

#include "common/wire/codec.h"
#include "router/replica/replicas.h"
#include "tests/lib/fuzz_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX ((size_t)1 << 18)
enum { NODE = 3, ROWS_MAX = 4, LOOK_MAX = 4096 /* numbers of a name that are looked at */ };

struct world {
    struct fuzz_bytes in;
    struct replicas r;
    struct stream *st;
    msec_t now_ms;
    struct arena mem;
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* ---- what must hold --------------------------------------------------------------------- */

static uint32_t rank_by_bits(const struct line *l, uint32_t number)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < number; i++)
        n += line_bit(l, i);
    return n;
}

/* Ranks are those of the bits, of each name whose polls may be answered. */
static void sound(const struct world *w)
{
    uint64_t name, val;

    must(w->r.pool.n_bytes <= w->r.pool.max_bytes);
    must(w->st->up || (w->st->state == STREAM_NOTHING && w->st->next.names.n == 0));
    for (size_t i = 0; (i = map_next(&w->st->now.names, i, &name, &val)) != 0;) {
        const struct known_name *n = (const struct known_name *)(uintptr_t)val;
        uint32_t rank, sum = 0;

        if ((n->flags & (REPLICA_ASK | REPLICA_MORE)) != 0)
            continue;
        for (uint32_t k = 0; k < n->line.end && k < LOOK_MAX; k++) {
            if (line_rank(&n->line, k, &rank))
                must(rank == sum);
            sum += line_bit(&n->line, k);
        }
    }
}

static void look_up(struct world *w)
{
    struct token t = { .seg = fuzz_num(&w->in) };
    const struct known_name *n;
    struct place_ans a;
    seg_id host;
    bool placed;

    t.number = (uint32_t)fuzz_num(&w->in);
    t.client = (uint8_t)fuzz_num(&w->in);
    host = fuzz_num(&w->in);
    if (!replicas_place(&w->r, NODE, host, &t, w->now_ms, &a))
        return;
    must((n = stream_name(w->st, t.seg)) != NULL && n->host == host);
    must(a.state == PLACE_WAITING && a.poll_after_ms <= n->told_max_ms);
    placed = (n->flags & (REPLICA_EARLY | REPLICA_NO_PLACE)) == 0;
    must(stream_age_ms(w->st, w->now_ms) <= (w->st->up ? w->r.fresh_ms : w->r.keep_ms));
    must(a.position == 0 ? !placed || !w->st->up : placed);
    if (a.position != 0 && t.number < LOOK_MAX)
        must(a.position == n->before + rank_by_bits(&n->line, t.number) + 1);
}

static void manager_says(struct world *w)
{
    struct silent_node silent = { .no = NODE };
    struct msg_stats m = { .reach = true, .unreached = &silent };

    m.n_unreached = fuzz_num(&w->in) % 2;
    silent.silent_ms = (uint32_t)fuzz_num(&w->in);
    replicas_reach(&w->r, &m, w->now_ms);
}

/* ---- what the node says ------------------------------------------------------------------ */

static void fill_pace(struct world *w, struct pace_entry *x)
{
    x->queue = (queue_id)fuzz_num(&w->in);
    x->lane = (uint8_t)(fuzz_num(&w->in) % LANES_MAX);
    x->min_ms = (uint32_t)fuzz_num(&w->in);
    x->max_ms = (uint32_t)fuzz_num(&w->in);
    x->us_per_place = (uint32_t)fuzz_num(&w->in);
}

static void fill_row(struct world *w, struct replica_row *v)
{
    v->flags = (uint8_t)fuzz_num(&w->in);
    v->name = fuzz_num(&w->in);
    v->host = fuzz_num(&w->in);
    v->queue = (queue_id)fuzz_num(&w->in);
    v->lane = (uint8_t)(fuzz_num(&w->in) % LANES_MAX);
    v->head = (uint32_t)fuzz_num(&w->in);
    v->end = v->head + (uint32_t)fuzz_num(&w->in);
    v->told_max_ms = (uint32_t)fuzz_num(&w->in);
    v->before = fuzz_num(&w->in);
    v->dead = fuzz_take(&w->in, &v->n_dead);
    v->lines = fuzz_take(&w->in, &v->n_lines);
}

static void apply(struct world *w, const struct msg *m)
{
    struct buf body;
    struct msg in;
    int rc = SQ_EPROTO;

    buf_init(&body);
    arena_reset(&w->mem);
    if (msg_encode(m, &body) == 0 &&
        msg_decode(MSG_REPLICA, body.data, body.len, &w->mem, &in) == 0)
        rc = stream_apply(w->st, &in.replica, w->now_ms);
    buf_fini(&body);
    must(rc == 0 || rc == SQ_EPROTO);
    if (rc < 0)
        stream_down(w->st);
}

static void push(struct world *w)
{
    struct replica_row row[ROWS_MAX] = { 0 };
    struct pace_entry pace[ROWS_MAX] = { 0 };
    seg_id gone[ROWS_MAX];
    struct msg m = { .type = MSG_REPLICA, .replica = { .v = row, .pace = pace, .gone = gone } };
    struct msg_replica *r = &m.replica;
    uint64_t stamp;

    r->flags = (uint8_t)fuzz_num(&w->in);
    stamp = fuzz_num(&w->in); /* 0: none; later than the last one, so that most are taken */
    r->stamp_ms = stamp == 0 ? 0 : (msec_t)((uint64_t)w->st->stamp_ms + stamp);
    r->echo_ms = (msec_t)((uint64_t)w->st->clock_ms - fuzz_num(&w->in));
    r->seen = fuzz_num(&w->in);
    r->n_pace = fuzz_num(&w->in) % (ROWS_MAX + 1);
    r->n_gone = fuzz_num(&w->in) % (ROWS_MAX + 1);
    r->n = fuzz_num(&w->in) % (ROWS_MAX + 1);
    for (uint32_t i = 0; i < r->n_pace; i++)
        fill_pace(w, &pace[i]);
    for (uint32_t i = 0; i < r->n_gone; i++)
        gone[i] = fuzz_num(&w->in);
    for (uint32_t i = 0; i < r->n; i++)
        fill_row(w, &row[i]);
    apply(w, &m);
}

static void step(struct world *w)
{
    struct msg_seen seen;
    struct token t = { 0 };

    switch (fuzz_num(&w->in)) {
    case 'r':
        if (w->st->up)
            push(w);
        break;
    case 'p':
        look_up(w);
        break;
    case 's':
        while (stream_seen(w->st, w->now_ms, &seen))
            ;
        break;
    case 't':
        w->now_ms += (msec_t)(fuzz_num(&w->in) % 10000);
        break;
    case 'o':
        t.seg = fuzz_num(&w->in);
        t.number = (uint32_t)fuzz_num(&w->in);
        replicas_over(&w->r, NODE, &t);
        break;
    case 'u':
        if (w->st->up)
            stream_down(w->st);
        stream_up(w->st, w->now_ms);
        break;
    case 'd':
        if (w->st->up)
            stream_down(w->st);
        break;
    case 'w':
        manager_says(w);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = { .in = { data, data + size }, .now_ms = 1000000 };

    if (size > 4096)
        return 0;
    arena_init(&w.mem);
    replicas_init(&w.r, 250, 15000, 7);
    w.r.pool.max_bytes = BYTES_MAX;
    w.st = replicas_stream(&w.r, NODE);
    must(w.st != NULL);
    stream_up(w.st, w.now_ms);
    while (w.in.p < w.in.end) {
        step(&w);
        sound(&w);
    }
    replicas_fini(&w.r);
    arena_fini(&w.mem);
    return 0;
}
