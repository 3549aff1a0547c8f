/* replicas.c: see replicas.h. */
#include "router/replica/replicas.h"

#include <stdlib.h>
#include <string.h>

/* ---- tickets that have left ---- */

/* seed: hides the places of rows: which tickets leave is decided outside. */
static void leaves_init(struct leaves *l, uint32_t seed)
{
    memset(l, 0, sizeof(*l));
    revoked_init(&l->told, seed);
    l->told.max = LEAVES_TOLD_MAX;
}

static void leaves_fini(struct leaves *l)
{
    revoked_fini(&l->told);
}

void leaves_note(struct leaves *l, node_no node, const struct token *t, msec_t now_ms)
{
    if (!leaves_has(l, t)) /* a repeated leave */
        l->ring[l->n++ % LEAVES_MAX] = (struct leave) { t->seg, t->number, node, 0, now_ms };
}

static void tell_left(struct leaves *l, seg_id seg, uint32_t number, msec_t now_ms)
{
    int64_t now_s = now_ms / 1000;

    l->until_s = now_s + LEAVES_KEEP_S;
    revoked_add(&l->told,
                &(struct pass_row) { .seg = seg, .number = number, .until_s = l->until_s }, now_s);
}

void leaves_link_lost(struct leaves *l, node_no node)
{
    for (uint32_t i = 0; i < l->told.cap; i++)
        if (l->told.v[i].mark == node)
            l->told.v[i].mark = 0;
}

static bool is_recent(const struct leave *x, msec_t now_ms)
{
    return x->seg != 0 && x->at_ms + LEAVES_RECENT_MS > now_ms;
}

bool leaves_away(struct leaves *l, node_no node, msec_t now_ms)
{
    bool news = false;

    for (uint32_t i = 0; i < LEAVES_MAX; i++) {
        struct leave *x = &l->ring[i];

        if (x->node != node || x->told_ms != 0 || !is_recent(x, now_ms))
            continue;
        x->told_ms = l->news_ms = now_ms;
        news = true;
        tell_left(l, x->seg, x->number, now_ms);
    }
    return news;
}

uint32_t leaves_rows(const struct leaves *l, enum leaves_which which, msec_t now_ms,
                     struct left_row *v)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < LEAVES_MAX; i++) {
        const struct leave *x = &l->ring[i];

        if (x->told_ms == 0 || !is_recent(x, now_ms))
            continue;
        if (which == LEAVES_ALL || x->told_ms == l->news_ms)
            v[n++] = (struct left_row) { x->seg, x->number };
    }
    return n;
}

void leaves_heard(struct leaves *l, const struct msg_left *m, msec_t now_ms)
{
    for (uint32_t i = 0; i < m->n; i++)
        tell_left(l, m->v[i].seg, m->v[i].number, now_ms);
}

struct revoked_row *leaves_next(struct leaves *l, uint32_t *i, msec_t now_ms)
{
    if (l->told.n > 0 && l->until_s <= now_ms / 1000) {
        leaves_fini(l);
        l->told.max = LEAVES_TOLD_MAX;
    }
    while (*i < l->told.cap)
        if (l->told.v[(*i)++].seg != 0)
            return &l->told.v[*i - 1];
    return NULL;
}

void leaves_again(struct leaves *l, const struct token *t)
{
    revoked_set_mark(&l->told, t->seg, t->number, 0);
}

/* ---- copies of lines ---- */

#define WORD_MS 2500 /* the manager says each second which nodes it does not reach */
#define WORDS_MS 100 /* words that it said while we stood still come at once */
#define PASSED_OVER_MS 5000 /* skip_after of the manager, by default */
#define SOON_MS 1000 /* without a place: told so long, to twice that */

const char *const replica_by_names[REPLICA_NBY] = { "replica", "last_known", "no_place", "left",
                                                    "name", "fenced", "ticket", "stale", "pace",
                                                    "marks" };

void replicas_init(struct replicas *r, msec_t fresh_ms, msec_t keep_ms, uint32_t seed)
{
    memset(r, 0, sizeof(*r));
    line_pool_init(&r->pool, REPLICA_BYTES);
    map_init(&r->streams, 0);
    leaves_init(&r->leaves, seed);
    r->fresh_ms = fresh_ms;
    r->keep_ms = keep_ms;
}

void replicas_fini(struct replicas *r)
{
    uint64_t node, val;

    for (size_t i = 0; (i = map_next(&r->streams, i, &node, &val)) != 0; i = 0)
        replicas_forget(r, (node_no)node);
    map_fini(&r->streams);
    leaves_fini(&r->leaves);
    line_pool_fini(&r->pool);
}

struct stream *replicas_stream(struct replicas *r, node_no node)
{
    struct stream *st = map_get_ptr(&r->streams, node);

    if (st != NULL || (st = malloc(sizeof(*st))) == NULL)
        return st;
    stream_init(st, &r->pool);
    if (map_set_ptr(&r->streams, node, st) == 0)
        return st;
    stream_fini(st);
    free(st);
    return NULL;
}

void replicas_forget(struct replicas *r, node_no node)
{
    struct stream *st = map_get_ptr(&r->streams, node);

    if (st == NULL)
        return;
    map_del(&r->streams, node);
    stream_fini(st);
    free(st);
}

uint64_t replicas_marks(const struct replicas *r)
{
    uint64_t node, val, n = 0;

    for (size_t i = 0; (i = map_next(&r->streams, i, &node, &val)) != 0;)
        n += seen_waiting(&((const struct stream *)(uintptr_t)val)->seen);
    return n;
}

msec_t replicas_oldest_ms(const struct replicas *r, msec_t now_ms)
{
    uint64_t node, val;
    msec_t oldest = 0;

    for (size_t i = 0; (i = map_next(&r->streams, i, &node, &val)) != 0;) {
        msec_t age = stream_age_ms((const struct stream *)(uintptr_t)val, now_ms);

        if (age != MSEC_NEVER)
            oldest = ms_max(oldest, age);
    }
    return oldest;
}

/* True: the manager does not reach it. late: it may have been otherwise since the word before. */
static bool word_of(struct stream *st, node_no node, const struct msg_stats *m, bool late, msec_t now_ms)
{
    for (uint32_t i = 0; i < m->n_unreached; i++)
        if (m->unreached[i].no == node) {
            stream_unreached(st, m->unreached[i].silent_ms, now_ms);
            return true;
        }
    stream_reached(st, late ? 0 : now_ms);
    return false;
}

bool replicas_reach(struct replicas *r, const struct msg_stats *m, msec_t now_ms)
{
    uint64_t node, val;
    bool news = false, late;

    if (!m->reach)
        return false;
    if (now_ms >= r->word_until_ms)
        r->late_until_ms = now_ms + WORDS_MS;
    late = now_ms < r->late_until_ms;
    r->word_until_ms = now_ms + WORD_MS;
    for (size_t i = 0; (i = map_next(&r->streams, i, &node, &val)) != 0;)
        if (word_of((struct stream *)(uintptr_t)val, (node_no)node, m, late, now_ms))
            news |= leaves_away(&r->leaves, (node_no)node, now_ms);
    return news;
}

/* ---- how a poll is answered -------------------------------------------------------------- */

/* The shortest interval that was told lately to anybody who may poll now; 0: not known. */
static uint32_t shortest_ms(const struct known_name *n, msec_t now_ms)
{
    uint32_t ms = n->pace != NULL ? told_pace_low_ms(n->pace, now_ms) : 0;

    ms -= ms / 10; /* jitter */
    return ms < n->told_max_ms ? ms : n->told_max_ms;
}

/* Names of which bits are not known, or not all. */
#define ASKS (REPLICA_ASK | REPLICA_MORE)

/* How old what is told of a node may be. */
static msec_t fresh_ms(const struct replicas *r, const struct stream *st)
{
    return r->fresh_ms + st->far_ms;
}

/* By the age of what is known. */
static enum replica_by by_age(const struct replicas *r, const struct stream *st,
                              const struct known_name *n, msec_t now_ms)
{
    msec_t age_ms = stream_age_ms(st, now_ms);

    if (age_ms > fresh_ms(r, st))
        return BY_ASKING_STALE;
    return age_ms > shortest_ms(n, now_ms) ? BY_ASKING_PACE : BY_REPLICA;
}

/* The same where the node cannot be asked: a state that is not fresh counts if nobody may have been
 * told of a newer one, by the manager's word: until it reaches the node again, and for as long after
 * that as a fresh state may be old, while our link to the node comes up; but not if that word was late
 * (this process stood still), for then the node may have been back for long. A word from before that
 * state says nothing of what came after; nor do intervals: others may have been told a shorter one
 * since. While a jam held up what the node said, it told others newer things: only a way that is none
 * is allowed for. */
static enum replica_by by_last_word(const struct replicas *r, const struct stream *st,
                                    const struct known_name *n, bool waits, msec_t now_ms)
{
    bool placed = waits && (n->flags & REPLICA_FENCED) == 0;
    msec_t age_ms = stream_age_ms(st, now_ms), as_of_ms = st->now.as_of_ms;
    bool fresh = age_ms <= fresh_ms(r, st) && age_ms <= shortest_ms(n, now_ms);
    bool away = st->unreached || (st->back_ms != 0 && now_ms - st->back_ms <= r->fresh_ms);
    bool silent = away && now_ms < r->word_until_ms && st->word_ms >= as_of_ms &&
                  st->heard_ms <= as_of_ms + r->fresh_ms + st->sure_far_ms;

    if (age_ms > r->keep_ms || (!fresh && !silent))
        return BY_ASKING_STALE;
    return placed ? BY_LAST_KNOWN : BY_NO_PLACE;
}

static enum replica_by find(const struct replicas *r, const struct stream *st,
                            const struct known_name *n, uint32_t number, bool can_ask,
                            msec_t now_ms, uint32_t *rank)
{
    enum replica_by by;
    bool waits;

    if ((n->flags & ASKS) != 0 || shortest_ms(n, now_ms) == 0)
        return BY_ASKING_NAME;
    waits = line_rank(&n->line, number, rank);
    by = (n->flags & REPLICA_FENCED) != 0 ? BY_ASKING_FENCED : by_age(r, st, n, now_ms);
    if (by == BY_REPLICA && waits)
        return BY_REPLICA;
    if (can_ask)
        return by == BY_REPLICA ? BY_ASKING_TICKET : by;
    if (!waits && number < n->line.end)
        return BY_ASKING_TICKET;
    return by_last_word(r, st, n, waits, now_ms);
}

static void tell(const struct known_name *n, enum replica_by by, uint32_t number, uint32_t rank,
                 msec_t now_ms, struct place_ans *a)
{
    uint64_t position = n->before + rank + 1;
    uint32_t salt = number ^ (uint32_t)now_ms, ms;

    ms = by == BY_NO_PLACE ? SOON_MS + salt % SOON_MS
                           : pace_jittered_ms(&n->pace->pace, position, salt);
    memset(a, 0, sizeof(*a));
    a->state = PLACE_WAITING;
    a->poll_after_ms = ms < n->told_max_ms ? ms : n->told_max_ms;
    if ((n->flags & REPLICA_EARLY) != 0)
        a->reason = NO_PLACE_EARLY;
    else if ((n->flags & REPLICA_NO_PLACE) != 0 || by == BY_NO_PLACE)
        a->reason = NO_PLACE_NOW;
    else
        a->position = position;
}

/* Told to no node: there is no mark. */
static enum replica_by answer_left(struct place_ans *a)
{
    memset(a, 0, sizeof(*a));
    a->state = PLACE_GONE;
    a->reason = GONE_LEFT;
    return BY_LEFT;
}

/* Answers, if `by` is an answer: the node of `st` will hear of it. */
static enum replica_by answer(struct stream *st, const struct known_name *n, enum replica_by by,
                              const struct token *t, uint32_t rank, msec_t now_ms,
                              struct place_ans *a)
{
    unsigned client = t->client < CLIENT_NCLASSES ? t->client : CLIENT_GAME;

    tell(n, by, t->number, rank, now_ms, a);
    return seen_add(&st->seen, t->seg, (enum client_class)client, t->number, a->poll_after_ms)
               ? by
               : BY_ASKING_MARKS;
}

/* last: of the ways to answer it, the last that is meant. */
static enum replica_by place(struct replicas *r, node_no node, seg_id host, const struct token *t,
                             bool can_ask, enum replica_by last, msec_t now_ms,
                             struct place_ans *a)
{
    enum replica_by by = BY_ASKING_NAME;
    const struct known_name *n = NULL;
    struct stream *st;
    uint32_t rank = 0;

    if (leaves_has(&r->leaves, t))
        return answer_left(a);
    st = map_get_ptr(&r->streams, node);
    if (st != NULL && (n = stream_name(st, t->seg)) != NULL &&
        (n->host == host || (n->flags & REPLICA_FENCED) != 0))
        by = find(r, st, n, t->number, can_ask && st->up, now_ms, &rank);
    return by <= last ? answer(st, n, by, t, rank, now_ms, a) : by;
}

static bool count(struct replicas *r, enum replica_by by)
{
    r->polls[by]++;
    return by <= BY_LEFT;
}

bool replicas_place(struct replicas *r, node_no node, seg_id host, const struct token *t,
                    msec_t now_ms, struct place_ans *a)
{
    return r->fresh_ms != 0 && count(r, place(r, node, host, t, true, BY_NO_PLACE, now_ms, a));
}

/* NULL: no such row. */
static const struct known_name *fenced(const struct replicas *r, node_no node, seg_id name)
{
    const struct stream *st = map_get_ptr(&r->streams, node);
    const struct known_name *n = st != NULL ? stream_name(st, name) : NULL;

    return n != NULL && (n->flags & REPLICA_FENCED) != 0 ? n : NULL;
}

seg_id replicas_heads_for(const struct replicas *r, node_no node, const struct token *t)
{
    const struct known_name *n = fenced(r, node, t->seg);

    return n != NULL ? n->host : 0;
}

/* Both nodes have said of a moment that is not long ago that nothing of it had changed: the heir's
 * has the heir (one that has lost it knows of no commit), and does not list the name. */
static enum replica_by find_fenced(const struct replicas *r, const struct stream *st,
                                   const struct stream *heirs, const struct known_name *n,
                                   uint32_t number, msec_t now_ms, uint32_t *rank)
{
    if ((n->flags & ASKS) != 0 || shortest_ms(n, now_ms) == 0 || heirs->now.lacks ||
        by_age(r, st, n, now_ms) != BY_REPLICA || by_age(r, heirs, n, now_ms) != BY_REPLICA)
        return BY_ASKING_FENCED;
    return line_rank(&n->line, number, rank) ? BY_REPLICA : BY_ASKING_TICKET;
}

bool replicas_place_moving(struct replicas *r, node_no *node, seg_id heir, node_no heirs,
                           const struct token *t, msec_t now_ms, struct place_ans *a)
{
    struct stream *st = map_get_ptr(&r->streams, *node), *to = map_get_ptr(&r->streams, heirs);
    const struct known_name *n = fenced(r, *node, t->seg), *there;
    enum replica_by by = BY_ASKING_FENCED;
    uint32_t rank = 0;

    if (n == NULL || n->host != heir || to == NULL || to == st)
        return false;
    there = stream_name(to, t->seg);
    if (there == NULL && stream_name(to, heir) != NULL)
        by = find_fenced(r, st, to, n, t->number, now_ms, &rank);
    else if (there != NULL && there->host == heir && (there->flags & REPLICA_FENCED) == 0)
        by = find(r, to, there, t->number, true, now_ms, &rank);
    if (by != BY_REPLICA)
        return false;
    r->polls[BY_ASKING_FENCED]--; /* replicas_place() has counted it */
    if (there == NULL)
        return count(r, answer(st, n, by, t, rank, now_ms, a));
    *node = heirs;
    return count(r, answer(to, there, by, t, rank, now_ms, a));
}

bool replicas_unanswered(struct replicas *r, node_no node, seg_id host, const struct token *t,
                         msec_t now_ms, struct place_ans *a)
{
    return r->fresh_ms != 0 && count(r, place(r, node, host, t, false, BY_NO_PLACE, now_ms, a));
}

const struct line *replicas_line(const struct replicas *r, node_no node, seg_id host, seg_id name)
{
    const struct stream *st = map_get_ptr(&r->streams, node);
    const struct known_name *n = st != NULL ? stream_name(st, name) : NULL;

    return n != NULL && n->host == host && (n->flags & (ASKS | REPLICA_FENCED)) == 0 ? &n->line
                                                                                     : NULL;
}

const struct line *replicas_last_line(const struct replicas *r, node_no node, seg_id host, seg_id name)
{
    const struct known_name *n = fenced(r, node, name);

    if (n == NULL)
        return replicas_line(r, node, host, name);
    return (n->flags & ASKS) == 0 ? &n->line : NULL;
}

msec_t replicas_as_of_ms(const struct replicas *r, node_no node)
{
    const struct stream *st = map_get_ptr(&r->streams, node);

    return st != NULL ? st->now.as_of_ms : INT64_MIN;
}

bool replicas_is_passed_over(const struct replicas *r, node_no node, msec_t now_ms)
{
    const struct stream *st = map_get_ptr(&r->streams, node);

    return st != NULL && st->unreached && now_ms < r->word_until_ms && now_ms - st->heard_ms > PASSED_OVER_MS;
}

bool replicas_place_now(struct replicas *r, node_no node, seg_id host, const struct token *t,
                        msec_t now_ms, struct place_ans *a)
{
    if (r->fresh_ms == 0 || place(r, node, host, t, true, BY_REPLICA, now_ms, a) != BY_REPLICA)
        return false;
    r->polls[BY_REPLICA]++;
    return true;
}

uint8_t replicas_want(const struct replicas *r, node_no node, const struct token *t)
{
    struct stream *st = map_get_ptr(&r->streams, node);

    return st != NULL && stream_want(st, t, t->client) ? st->link : 0;
}

void replicas_want_no_more(const struct replicas *r, uint8_t link, const struct token *t)
{
    uint64_t node, val;

    for (size_t i = 0; link != 0 && (i = map_next(&r->streams, i, &node, &val)) != 0;) {
        struct stream *st = (struct stream *)(uintptr_t)val;

        if (st->link == link)
            (void)stream_want(st, t, WANT_NO_MORE);
    }
}

bool replicas_is_fresh(const struct replicas *r, node_no node, msec_t now_ms)
{
    const struct stream *st = map_get_ptr(&r->streams, node);

    return st != NULL && st->up && stream_age_ms(st, now_ms) <= fresh_ms(r, st);
}

void replicas_over(struct replicas *r, node_no node, const struct token *t)
{
    const struct stream *st = map_get_ptr(&r->streams, node);
    struct known_name *n = st != NULL ? stream_name(st, t->seg) : NULL;

    if (n != NULL)
        line_over(&n->line, t->number);
}
