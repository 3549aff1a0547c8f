/* push.c: differences to all, whole pushes to those that need them. */
#include "segment/replica/push.h"

#include <stdlib.h>
#include <string.h>

#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/replica/listeners.h"
#include "segment/replica/rows.h"

#define SLOW_BYTES   (4u << 20) /* bytes unread: then a whole push later */
#define READ_BYTES   (64u << 10) /* when no more than that waits */
#define WHOLE_FRAMES 4          /* frames of a router in a push */
#define QUIET_MS     1000       /* a stamp, also when nobody waits here */

/* ---- names ------------------------------------------------------------------------------ */

static struct said_name *said_of(struct replica *rep, seg_id name)
{
    struct said_name *s = map_get_ptr(&rep->by_name, name);

    if (s != NULL)
        return s;
    s = calloc(1, sizeof(*s));
    if (s == NULL || map_set_ptr(&rep->by_name, name, s) < 0) {
        free(s);
        return NULL;
    }
    s->no = ++rep->last_no;
    s->row.flags = REPLICA_ASK;
    s->row.name = name;
    list_push_back(&rep->names, &s->node);
    return s;
}

static void said_free(struct replica *rep, struct said_name *s)
{
    map_del(&rep->by_name, s->row.name);
    list_remove(&rep->names, &s->node);
    free(s);
}

static void forget_all(struct segtab *t)
{
    list_each_of(&t->replica.names, struct said_name, node, s)
        said_free(&t->replica, s);
    each_seg (t, g) {
        g->said.known = false;
        g->said.n_died = 0;
    }
}

void replica_fini(struct segtab *t)
{
    forget_all(t);
    map_fini(&t->replica.by_name);
    for (uint32_t i = 0; i < t->n_peers; i++)
        wants_fini(&t->peers[i].listener.wants);
}

/* The host's slots that name this node has under it; false: it is elsewhere by now. */
static bool find_name(const struct segtab *t, seg_id name, struct name_of *n)
{
    uint64_t v = map_get(&t->locations, name);

    *n = (struct name_of) { NULL, NULL };
    if (v == MAP_NONE || (v & 3) == AT_MOVED)
        return false;
    if ((v & 3) == AT_RELOC) {
        n->r = (const struct reloc *)(uintptr_t)(v & ~3ull);
        n->host = n->r->host;
    } else {
        n->host = (struct seg *)(uintptr_t)v;
    }
    return n->host != NULL;
}

/* ---- what changed ------------------------------------------------------------------------ */

/* Polls heard by a fenced segment are not heard where its tickets go: they are told by this as by
 * that, so it stays as it was. */
static uint64_t ahead_of(const struct seg *g)
{
    return seg_is_fenced(g) ? g->out->fenced_ahead : g->ahead;
}

static uint8_t flags_of(const struct seg *g)
{
    unsigned moves = seg_is_fenced(g) ? REPLICA_FENCED : 0;
    bool has_places = ahead_of(g) != AHEAD_UNKNOWN;

    if (g->b.q.rebuilding)
        return REPLICA_ASK;
    return (uint8_t)(moves | (g->early ? REPLICA_EARLY : has_places ? 0 : REPLICA_NO_PLACE));
}

/* Counts who waits before the host's first; without places far_position() in its stead. */
static uint64_t base_of(const struct seg *g)
{
    bool known = ahead_of(g) != AHEAD_UNKNOWN && !g->early;

    return known ? ahead_of(g) + g->unstored.held : g->capacity;
}

static struct replica_row row_of(struct name_of n)
{
    const struct seg *g = n.host;
    struct replica_row row = {
        .name = n.r != NULL ? n.r->seg : g->b.id,
        .host = seg_is_fenced(g) ? g->out->out.to : g->b.id,
        .queue = g->queue->id,
        .lane = g->lane,
        .flags = flags_of(g),
    };

    if (n.r == NULL && g->draw != NULL)
        row.flags = REPLICA_ASK; /* numbers that are no places */
    if (row.flags & REPLICA_ASK)
        return row;
    row.end = name_end(n);
    row.head = name_head(n);
    row.told_max_ms = g->told_max_ms;
    row.before = base_of(g) + name_rank(n);
    return row;
}

static bool is_over(const struct replica_row *r)
{
    return r->head == r->end && (r->flags & REPLICA_ASK) == 0;
}

static bool is_same(const struct replica_row *a, const struct replica_row *b)
{
    if (a->end != b->end || a->head != b->head || a->flags != b->flags)
        return false;
    return is_over(a) || (a->flags & REPLICA_ASK) != 0 ||
           (a->before == b->before && a->told_max_ms == b->told_max_ms && a->host == b->host);
}

/* All of its lines again: nobody knows it, or what was said does not lead to what is. */
static bool is_new(const struct said_name *s, struct name_of n, const struct replica_row *row)
{
    return (s->row.flags & REPLICA_ASK) != 0 || s->host != n.host->b.id || row->end < s->row.end ||
           row->head < s->row.head || n.host->said.lost;
}

static void say_name(struct build *b, struct name_of n, const uint32_t *died, uint32_t n_died)
{
    struct replica_row row = row_of(n);
    struct said_name *s = said_of(&b->t->replica, row.name);

    if (s == NULL) { /* not heard of, so routers ask */
        n.host->said.known = false;
        return;
    }
    s->visit = b->t->replica.visit;
    if ((row.flags & REPLICA_ASK) == 0 && is_new(s, n, &row))
        frame_whole(b, n, &row, 0);
    else if (!is_same(&row, &s->row) || n_died > 0)
        frame_row(b, n, &row, died, n_died);
    s->row = row;
    s->host = n.host->b.id;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void sort_died(struct said_seg *s)
{
    for (uint32_t i = 1; i < s->n_died; i++)
        if (s->died[i] < s->died[i - 1]) {
            qsort(s->died, s->n_died, sizeof(*s->died), by_number);
            return;
        }
}

/* Collects the dead of each name of a host, by rising slots. */
static void say_names(struct build *b, struct seg *g)
{
    const struct reloc_list *l = &g->b.relocs;
    struct said_seg *s = &g->said;
    uint32_t at = 0;

    sort_died(s);
    for (uint32_t i = 0; i <= l->n; i++) {
        struct name_of n = { g, i > 0 ? l->v[i - 1] : NULL }, is;
        uint32_t from;

        while (at < s->n_died && s->died[at] < name_slot(n))
            at++;
        for (from = at; at < s->n_died && s->died[at] < name_slot_end(n);)
            at++;
        if (find_name(b->t, n.r != NULL ? n.r->seg : g->b.id, &is) && is.host == g && is.r == n.r)
            say_name(b, n, at > from ? s->died + from : NULL, at - from);
    }
}

static bool has_changed(const struct seg *g)
{
    const struct said_seg *s = &g->said;

    return !s->known || s->n_died > 0 || s->lost || s->end != g->b.joined ||
           s->waiting != g->b.q.waiting || s->base != base_of(g) || s->flags != flags_of(g) ||
           s->n_relocs != g->b.relocs.n || s->told_max_ms != g->told_max_ms;
}

static void say_seg(struct build *b, struct seg *g, bool all)
{
    struct said_seg *s = &g->said;

    segq_settle(&g->b.q);
    if (!all && !has_changed(g))
        return;
    s->known = true;
    s->end = g->b.joined;
    s->waiting = g->b.q.waiting;
    s->base = base_of(g);
    s->flags = flags_of(g);
    s->n_relocs = g->b.relocs.n;
    s->told_max_ms = g->told_max_ms;
    say_names(b, g);
    s->n_died = 0;
    s->lost = false;
}

static void say_pace(struct build *b, struct seg *g)
{
    struct pace *is = &g->queue->pace[g->lane], *said = &g->queue->said_pace[g->lane];

    if (memcmp(is, said, sizeof(*is)) == 0)
        return;
    *said = *is;
    frame_pace(b, g->queue, g->lane);
}

/* Removes rows that no segment has any more. */
static void say_gone(struct build *b)
{
    struct replica *rep = &b->t->replica;

    list_each_of(&rep->names, struct said_name, node, s) {
        if (s->visit == rep->visit)
            continue;
        frame_gone(b, s->row.name);
        said_free(rep, s);
    }
}

static void say_changes(struct build *b)
{
    struct replica *rep = &b->t->replica;
    bool all = rep->version != b->t->names_version;

    rep->visit++;
    rep->version = b->t->names_version;
    each_seg (b->t, g) {
        b->waiting = b->waiting || g->b.q.waiting > 0;
        say_pace(b, g);
        say_seg(b, g, all);
    }
    if (all)
        say_gone(b);
    frame_close(b);
}

/* ---- whole pushes -------------------------------------------------------------------------- */

/* Rows by rising no, each with all its lines. True: it has all. */
static bool say_whole(struct build *b, struct listener *l)
{
    list_each_of(&b->t->replica.names, struct said_name, node, s) {
        struct replica_row row = s->row;
        struct name_of n;

        if (s->no < l->at || (row.flags & REPLICA_ASK) || !find_name(b->t, row.name, &n))
            continue;
        l->block = frame_whole(b, n, &row, s->no > l->at ? 0 : l->block);
        l->at = s->no;
        if (l->block != FRAME_ALL)
            return false; /* the rest with the next push */
        l->at++;
        l->block = 0;
    }
    return true;
}

static void push_whole(struct build *b, struct peer *p)
{
    struct listener *l = &p->listener;
    bool whole;

    b->frames = WHOLE_FRAMES;
    if (l->state == LISTENS_NEXT) {
        b->m.flags = REPLICA_WHOLE;
        l->state = LISTENS_BEGUN;
        l->at = 0;
        l->block = 0;
        b->t->n.replica_whole++;
    }
    whole = say_whole(b, l);
    frame_close(b);
    if (whole) {
        l->state = LISTENS_LIVE;
        b->m.flags = REPLICA_END;
    }
}

/* ---- each router ---------------------------------------------------------------------------- */

static void look_at_speed(struct listener *l)
{
    if (l->state != LISTENS_NOT && l->pending > SLOW_BYTES)
        l->state = LISTENS_SLOW;
    else if (l->state == LISTENS_SLOW && l->pending <= READ_BYTES)
        l->state = LISTENS_NEXT;
}

static void push_to(struct build *b, struct peer *p)
{
    struct listener *l = &p->listener;
    bool whole = l->state == LISTENS_NEXT || l->state == LISTENS_BEGUN;

    b->to = p;
    if (whole && l->pending <= READ_BYTES)
        push_whole(b, p);
    if (l->state < LISTENS_BEGUN)
        return;
    if (!b->said && !b->waiting && !whole && !l->echo && l->wants.n_due == 0 &&
        b->t->now.now_ms - l->stamp_ms < QUIET_MS)
        return;
    frame_stamp(b);
    let_in_say(b->t, p, b->out);
}

/* Somebody is told less than has changed: all are told everything anew. */
static void begin_anew(struct segtab *t)
{
    for (uint32_t i = 0; i < t->n_peers; i++)
        if (t->peers[i].listener.state >= LISTENS_BEGUN)
            t->peers[i].listener.state = LISTENS_NEXT;
    forget_all(t);
}

void replica_push(struct segtab *t, struct outbox *out)
{
    struct build b = { .t = t, .out = out, .rows = portion_of(FRAME_ROWS, t->o.portion) };

    t->replica.now = false;
    if (t->replica.n_listeners == 0) {
        if (t->replica.names.n > 0)
            forget_all(t);
        return;
    }
    for (uint32_t i = 0; i < t->n_peers; i++) {
        look_at_speed(&t->peers[i].listener);
        b.heard = b.heard || t->peers[i].listener.state >= LISTENS_BEGUN;
    }
    say_changes(&b);
    for (uint32_t i = 0; i < t->n_peers; i++)
        push_to(&b, &t->peers[i]);
    if (b.failed || out->failed)
        begin_anew(t);
}
