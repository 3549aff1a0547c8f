/* suspects.c: see suspects.h. */
#include "router/gate/suspects.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "router/gate/crowd.h"

#define WAYS      4
#define SETS      1024u
#define POLLED    (1u << 15)
#define POLLED_MS 120000u
#define ALL       UINT64_MAX /* name of a queue's row: places that owe a poll, and all polls. No prefix has it */
#define HEARD     16         /* places that owe a poll for one that comes: with more, polls go elsewhere */

struct row {
    uint64_t name; /* hash of the prefix, or of its site; 0: free */
    queue_id queue;
    uint32_t from, places;
    int64_t slot;     /* number of the newest slot */
    uint32_t since_s; /* Unix time; 0: it is no suspect */
    uint64_t net;     /* first bytes of the address; 0: not known */
    uint8_t bits;     /* length of the prefix: 24 is IPv4 */
    uint8_t grade;    /* enum suspect_grade */
    uint16_t n[SUSPECT_NWHAT][SUSPECT_SLOTS]; /* by slot modulo their number */
};

struct suspects {
    struct row (*set)[WAYS]; /* owned */
    struct crowd *polled;    /* owned: tickets */
};

struct suspects *suspects_new(void)
{
    struct suspects *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->set = calloc(SETS, sizeof(*s->set));
    s->polled = crowd_new(POLLED, POLLED_MS);
    if (s->set != NULL && s->polled != NULL)
        return s;
    suspects_free(s);
    return NULL;
}

void suspects_free(struct suspects *s)
{
    if (s == NULL)
        return;
    free(s->set);
    crowd_free(s->polled);
    free(s);
}

/* ---- rows ---- */

static struct row *set_of(struct suspects *s, queue_id q, uint64_t name)
{
    return s->set[((name ^ name >> 32) + q * 0x9e37u) & (SETS - 1)]; /* names are hashes under a key */
}

static struct row *find(struct suspects *s, queue_id q, uint64_t name)
{
    struct row *set = set_of(s, q, name);

    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].name == name && set[i].queue == q)
            return &set[i];
    return NULL;
}

static bool is_kept(const struct row *r)
{
    return r->since_s != 0 || r->name == ALL;
}

/* Is it better to lose a than b? */
static bool is_less(const struct row *a, const struct row *b)
{
    if (is_kept(a) != is_kept(b))
        return is_kept(b);
    return a->slot < b->slot;
}

static struct row *claim(struct suspects *s, queue_id q, uint64_t name, int64_t slot)
{
    struct row *set = set_of(s, q, name), *least = set;

    for (unsigned i = 0; i < WAYS && least->name != 0; i++)
        if (set[i].name == 0 || is_less(&set[i], least))
            least = &set[i];
    *least = (struct row){ .name = name, .queue = q, .slot = slot };
    return least;
}

/* Empties the slots that have come since. */
static void bring_up(struct row *r, int64_t slot)
{
    int64_t first = r->slot + 1 > slot - SUSPECT_SLOTS + 1 ? r->slot + 1 : slot - SUSPECT_SLOTS + 1;

    for (; first <= slot; first++)
        for (unsigned w = 0; w < SUSPECT_NWHAT; w++)
            r->n[w][first % SUSPECT_SLOTS] = 0;
    if (slot > r->slot) /* a clock that goes back ages nothing */
        r->slot = slot;
}

static struct row *row_of(struct suspects *s, const struct suspect_of *of, uint64_t name, bool is_wide,
                          msec_t now_ms)
{
    int64_t slot = now_ms / SUSPECT_SLOT_MS;
    struct row *r = find(s, of->queue, name);

    if (r == NULL)
        r = claim(s, of->queue, name, slot);
    bring_up(r, slot);
    r->from = of->from;
    r->places = is_wide ? of->places * SUSPECT_WIDE : of->places;
    return r;
}

static void add(struct row *r, enum suspect_what what)
{
    uint16_t *n = &r->n[what][r->slot % SUSPECT_SLOTS];

    *n += *n < UINT16_MAX;
}

void suspects_count(struct suspects *s, const struct suspect_of *of, enum suspect_what what, msec_t now_ms)
{
    assert(of->from > 0);
    add(row_of(s, of, of->prefix, false, now_ms), what);
    if (of->site != of->prefix)
        add(row_of(s, of, of->site, true, now_ms), what);
    if (what == SUSPECT_OWED)
        add(row_of(s, of, ALL, false, now_ms), what);
}

void suspects_heard(struct suspects *s, queue_id q, msec_t now_ms)
{
    struct row *r = find(s, q, ALL);

    if (r == NULL)
        return;
    bring_up(r, now_ms / SUSPECT_SLOT_MS);
    add(r, SUSPECT_POLLS);
}

void suspects_polled(struct suspects *s, const struct suspect_of *of, uint64_t seg, uint32_t number,
                     msec_t now_ms)
{
    uint64_t ticket = (seg << 32 ^ number) * 0x9e3779b97f4a7c15u | 1;

    if (find(s, of->queue, of->prefix) != NULL && crowd_add(s->polled, ticket, now_ms).all == 1)
        suspects_count(s, of, SUSPECT_POLLS, now_ms);
}

/* ---- the score ---- */

/* In all slots but the newest `but`. */
static uint32_t sum(const struct row *r, enum suspect_what what, unsigned but)
{
    uint32_t n = 0;

    for (unsigned age = but; age < SUSPECT_SLOTS; age++)
        n += r->n[what][(r->slot + SUSPECT_SLOTS - age) % SUSPECT_SLOTS];
    return n;
}

static uint32_t less(uint32_t v, uint32_t by)
{
    return v > by ? v - by : 0;
}

/* Do polls of the queue come to this router? */
static bool hears(struct suspects *s, const struct row *of)
{
    struct row *r = find(s, of->queue, ALL);
    uint64_t polls;

    if (r == NULL)
        return false;
    bring_up(r, of->slot);
    polls = sum(r, SUSPECT_POLLS, 0);
    return polls > 0 && polls * HEARD >= sum(r, SUSPECT_OWED, 0);
}

static void judge(struct suspects *s, struct row *r, int64_t wall_s, struct suspect_row *of)
{
    uint32_t half = r->since_s != 0 ? (r->from + 1) / 2 : r->from, script, all;

    *of = (struct suspect_row){ .queue = r->queue, .net = r->net, .bits = r->bits,
                                .places = sum(r, SUSPECT_PLACES, 0), .posing = sum(r, SUSPECT_POSING, 0),
                                .silent = less(sum(r, SUSPECT_OWED, SUSPECT_DUE),
                                               2 * sum(r, SUSPECT_POLLS, 0)),
                                .refused = sum(r, SUSPECT_REFUSED, 0) };
    if (of->silent > 0 && !hears(s, r))
        of->silent = 0;
    script = of->silent + of->posing + of->refused / 8;
    all = script + (r->places != 0 ? less(of->places, r->places) / 10 : 0);
    r->grade = script >= (r->grade == SUSPECT_SCRIPT ? half : r->from) ? SUSPECT_SCRIPT
               : all >= half                                           ? SUSPECT_MANY
                                                                       : SUSPECT_NONE;
    if (r->grade == SUSPECT_NONE) {
        r->since_s = 0;
        r->net = 0; /* no prefix is kept of whom nobody suspects */
    } else if (r->since_s == 0) {
        r->since_s = (uint32_t)wall_s;
    }
    of->score = all;
    of->script = r->grade == SUSPECT_SCRIPT;
    of->since_s = r->since_s;
}

enum suspect_grade suspects_grade(struct suspects *s, const struct suspect_of *of, msec_t now_ms,
                                  int64_t wall_s, bool *nameless)
{
    const uint64_t names[2] = { of->prefix, of->site };
    enum suspect_grade worst = SUSPECT_NONE;
    struct suspect_row unused;

    *nameless = false;
    for (unsigned i = 0; i < 1 + (of->site != of->prefix); i++) {
        struct row *r = row_of(s, of, names[i], i > 0, now_ms);

        judge(s, r, wall_s, &unused);
        *nameless |= r->grade != SUSPECT_NONE && r->net == 0;
        if (r->grade > worst)
            worst = (enum suspect_grade)r->grade;
    }
    return worst;
}

void suspects_name(struct suspects *s, const struct suspect_of *of, const struct ip *ip)
{
    bool v4 = ip_is_v4(ip);
    struct row *rows[2] = { find(s, of->queue, of->prefix), find(s, of->queue, of->site) };

    for (unsigned i = 0; i < 2; i++) {
        struct row *r = rows[i];
        unsigned bytes = v4 ? 3 : i == 0 ? 7 : 6;

        if (r == NULL || r->grade == SUSPECT_NONE)
            continue;
        r->bits = (uint8_t)(8 * bytes);
        r->net = 0;
        for (unsigned b = 0; b < bytes; b++)
            r->net |= (uint64_t)ip->b[(v4 ? 12 : 0) + b] << (56 - 8 * b);
    }
}

uint32_t suspects_rows(struct suspects *s, msec_t now_ms, int64_t wall_s,
                       struct suspect_row rows[MSG_SUSPECTS_MAX], uint32_t *n)
{
    struct row *r = &s->set[0][0];
    struct suspect_row of;
    uint32_t all = 0;

    *n = 0;
    for (size_t i = 0; i < (size_t)SETS * WAYS; i++, r++) {
        if (r->since_s == 0)
            continue;
        bring_up(r, now_ms / SUSPECT_SLOT_MS);
        judge(s, r, wall_s, &of);
        all += r->grade != SUSPECT_NONE;
        if (r->grade != SUSPECT_NONE && r->net != 0 && *n < MSG_SUSPECTS_MAX)
            rows[(*n)++] = of;
    }
    return all;
}
