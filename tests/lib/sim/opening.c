/* opening.c: queues that open by the clock, and the lots of the early ones: what anybody
 * can check from outside is checked as anybody would, from what is published alone.
 *
 *   at every map    a commitment, once told, stays; the seed is told after the opening, and is
 *                   the one that was committed to
 *   when the draw is stored
 *                   it is of that seed, and of everybody who came; from here on the order of
 *                   the line is the drawn one (I3, I5 go by it)
 *   at every join   none into a segment that has drawn; none into one of early ones after the
 *                   opening by its node's clock; who is told that he draws does, and no other
 *   at every place  none before the draw
 *   at every pop    not before the opening; not from a segment that has not drawn, nor from
 *                   behind one in which somebody waits */
#include "tests/lib/sim/opening.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/faults.h"

#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned long long llu(uint64_t v)
{
    return v;
}

/* Empty: it is open from the start. */
void opening_json(const struct sim *s, char *out, size_t cap)
{
    int64_t at_ms = SIM_WALL_MS + s->o.opens_ms;
    time_t at_s = at_ms / 1000;
    struct tm tm;
    char text[32];

    out[0] = 0;
    if (s->o.opens_ms == 0)
        return;
    gmtime_r(&at_s, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, cap,
             "\"opens_at\":\"%s.%03dZ\",\"prequeue\":%lld,\"prequeue_capacity\":%u,", text,
             (int)(at_ms % 1000), (long long)s->o.prequeue_ms, s->o.prequeue_capacity);
}

static bool is_open(const struct sim *s, int64_t wall_ms)
{
    return wall_ms >= SIM_WALL_MS + s->o.opens_ms;
}

/* ---- commitment and seed ------------------------------------------------------------- */

/* As in the text of common/ticket/draw.h, not by its code. */
static void commitment_of(const char *queue, const char *seed, char *out)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    char text[200];
    int n = snprintf(text, sizeof(text), "segq draw 1\n%s\n%s\n", queue, seed);

    crypto_hash_sha256(hash, (const uint8_t *)text, (size_t)n);
    sodium_bin2hex(out, OPENING_HEX, hash, sizeof(hash));
}

static void check_seed(struct sim *s, struct squeue *q, const char *seed)
{
    char hash[OPENING_HEX];

    if (!is_open(s, sim_wall(s)))
        sim_fail(s, "the seed of queue %s is told before it opens", q->name);
    if (strlen(seed) != OPENING_HEX - 1) {
        sim_fail(s, "the seed of queue %s is %zu digits long", q->name, strlen(seed));
        return;
    }
    commitment_of(q->name, seed, hash);
    if (strcmp(hash, q->commitment) != 0)
        sim_fail(s, "the seed of queue %s is not the one that was committed to", q->name);
    memcpy(q->seed, seed, OPENING_HEX);
}

void opening_map(struct sim *s, const struct map_queue *m)
{
    uint64_t at = map_get(&s->queue_of, m->id);
    const char *commitment, *seed = NULL;
    struct squeue *q;
    json_t *j;

    if (s->o.opens_ms == 0 || at == MAP_NONE || m->when.draw == NULL || m->when.draw[0] == 0)
        return;
    q = &s->queue[at];
    j = json_loads(m->when.draw, 0, NULL);
    commitment = json_string_value(json_object_get(j, "commitment"));
    seed = json_string_value(json_object_get(j, "seed"));
    if (commitment == NULL || strlen(commitment) != OPENING_HEX - 1)
        sim_fail(s, "no commitment: %s", m->when.draw);
    else if (q->commitment[0] != 0 && strcmp(q->commitment, commitment) != 0)
        sim_fail(s, "another commitment of queue %s", q->name);
    else
        memcpy(q->commitment, commitment, OPENING_HEX);
    if (seed != NULL && !s->failed)
        check_seed(s, q, seed);
    json_decref(j);
}

/* ---- the draw ------------------------------------------------------------------------ */

static uint64_t random_at(const uint8_t seed[32], uint64_t seg, uint64_t i)
{
    uint8_t in[48], hash[crypto_hash_sha256_BYTES];
    uint64_t v = 0;

    memcpy(in, seed, 32);
    for (unsigned k = 0; k < 8; k++) {
        in[32 + k] = (uint8_t)(seg >> (56 - 8 * k));
        in[40 + k] = (uint8_t)(i / 4 >> (56 - 8 * k));
    }
    crypto_hash_sha256(hash, in, sizeof(in));
    for (unsigned k = 0; k < 8; k++)
        v = v << 8 | hash[i % 4 * 8 + k];
    return v;
}

/* list[p]: the number that has place p. */
static uint32_t *draw_list(const uint8_t seed[32], uint64_t seg, uint32_t count)
{
    uint32_t *list = sim_alloc((count + 1) * sizeof(*list));

    for (uint32_t i = 0; i < count; i++)
        list[i] = i;
    for (uint32_t i = count; i-- > 1;) {
        uint32_t j = (uint32_t)((unsigned __int128)random_at(seed, seg, i) * (i + 1ull) >> 64);
        uint32_t was = list[i];

        list[i] = list[j];
        list[j] = was;
    }
    return list;
}

/* The places in the order of the lane that its people have had by coming are theirs by lot. */
static void put_in_order(struct sim *s, struct sseg *g, const uint32_t *list, uint32_t count)
{
    uint64_t *ord = sim_alloc((s->n_tickets + 1) * sizeof(*ord));
    bool relaxed = false;
    uint32_t n = 0, at = 0;

    for (uint32_t i = 0; i < s->n_tickets; i++) { /* in the order in which they came */
        const struct ticket *t = &s->ticket[i];

        if (t->seg != g->id)
            continue;
        ord[n++] = t->ord;
        relaxed |= t->relaxed;
        if (t->number >= count)
            sim_fail(s, "ticket %llu-%u is not among the %u that draw", llu(t->seg), t->number,
                     count);
    }
    for (uint32_t p = 0; p < count && !s->failed; p++) {
        struct ticket *t = check_ticket(s, g->id, list[p]);

        if (t == NULL)
            continue; /* nobody has that number (any more) */
        t->ord = ord[at++];
        t->relaxed = relaxed;
    }
    free(ord);
}

static void drawn(struct sim *s, struct squeue *q, const char *hex, seg_id seg, uint32_t count)
{
    struct sseg *g = check_seg(s, seg);
    uint8_t seed[32] = { 0 };
    char hash[OPENING_HEX];
    uint32_t *list;

    if (g == NULL || g->drawn)
        return;
    commitment_of(q->name, hex, hash);
    if (strcmp(hash, q->commitment) != 0)
        sim_fail(s, "segment %llu draws with a seed that nobody was promised", llu(seg));
    if (!g->early || !is_open(s, sim_wall(s)))
        sim_fail(s, "segment %llu draws (early %d)", llu(seg), g->early);
    sim_note(s, "segment %lu draws, %lu numbers", seg, count, 0, 0, 0);
    (void)sodium_hex2bin(seed, sizeof(seed), hex, strlen(hex), NULL, NULL, NULL);
    list = draw_list(seed, seg, count);
    put_in_order(s, g, list, count);
    free(list);
    g->drawn = true;
    s->count.draws++;
}

/* It is durable: whatever fails from now on, the order is this one. */
void opening_stored(struct sim *s, const char *key, const char *val)
{
    uint64_t at = map_get(&s->queue_of, strtoull(key + strlen("sched/"), NULL, 10));
    json_t *j, *v;
    size_t i;

    if (s->o.opens_ms == 0 || at == MAP_NONE)
        return;
    j = json_loads(val, 0, NULL);
    json_array_foreach(json_object_get(j, "draws"), i, v)
        drawn(s, &s->queue[at], json_string_value(json_object_get(j, "seed")),
              (seg_id)json_integer_value(json_array_get(v, 0)),
              (uint32_t)json_integer_value(json_array_get(v, 1)));
    json_decref(j);
}

/* ---- joins, places, releases --------------------------------------------------------- */

void opening_joined(struct sim *s, const struct sseg *g, uint64_t position)
{
    if (g->drawn)
        sim_fail(s, "somebody joins segment %llu, which has drawn", llu(g->id));
    if (s->o.opens_ms != 0 && !g->early && !is_open(s, sim_wall(s)) &&
        !s->queue[g->lane / LANES_MAX].was_free)
        sim_fail(s, "somebody joins segment %llu before the opening, and draws no lot",
                 llu(g->id));
    if (g->early && !g->by_order && is_open(s, clock_wall(&s->proc[g->node])))
        sim_fail(s, "somebody joins segment %llu after the opening, and draws with the early ones",
                 llu(g->id));
    if (g->early && position != 0)
        sim_fail(s, "somebody has position %llu in a line that has not been drawn",
                 llu(position));
}

void opening_told(struct sim *s, const struct flow *f)
{
    const struct sseg *g = check_seg(s, f->token.seg);
    bool told = f->position == 0 && f->no_place == NO_PLACE_EARLY;

    if (g != NULL && f->result == FLOW_OK && told != g->early)
        sim_fail(s, "whoever joins segment %llu is told prequeue %d, and it is %d", llu(g->id),
                 told, g->early);
}

bool opening_is_waiting_for(const struct sim *s, seg_id seg)
{
    const struct sseg *g = check_seg((struct sim *)(uintptr_t)s, seg);

    return g != NULL && g->early && !g->drawn;
}

static void on_node_seg(void *ctx, const struct seg_status *st)
{
    struct sim *s = ctx;
    struct sseg *g = check_seg(s, st->seg);

    if (g == NULL || !g->early || g->node != s->sweep_node)
        return;
    g->drawn_there = st->drawn;
    g->waiting_there = st->waiting;
}

/* What was there and is not any more: nobody waits in it. */
static void forget_there(struct sim *s, unsigned node)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&s->seg_by_id, i, &key, &val)) != 0;) {
        struct sseg *g = (struct sseg *)(uintptr_t)val;

        if (g->node == node)
            g->waiting_there = 0;
    }
}

/* What nodes know of it: they hear a moment after it is stored. */
void opening_look(struct sim *s)
{
    for (unsigned i = 0; i < s->n_procs && s->o.opens_ms != 0; i++) {
        if (s->proc[i].kind != SIM_SEG || !s->proc[i].alive)
            continue;
        s->sweep_node = (uint8_t)i;
        forget_there(s, i);
        segtab_each_seg(s->proc[i].segtab, on_node_seg, s);
    }
}

void opening_popped(struct sim *s, const struct sseg *g, int64_t ordered_ms)
{
    uint64_t key, val;

    if (s->o.opens_ms == 0)
        return;
    if (!is_open(s, ordered_ms) && !s->queue[g->lane / LANES_MAX].was_free)
        sim_fail(s, "somebody is let in before queue %s opens",
                 s->queue[g->lane / LANES_MAX].name);
    if (g->early && !g->drawn)
        sim_fail(s, "segment %llu lets in somebody, and has not drawn", llu(g->id));
    opening_look(s);
    for (size_t i = 0; (i = map_next(&s->seg_by_id, i, &key, &val)) != 0;) {
        const struct sseg *x = (const struct sseg *)(uintptr_t)val;

        if (x->lane == g->lane && x->id < g->id && x->early && !x->drawn &&
            x->waiting_there > 0)
            sim_fail(s, "segment %llu lets in somebody while %u wait in %llu for their lots",
                     llu(g->id), x->waiting_there, llu(x->id));
    }
}
