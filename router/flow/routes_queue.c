/* routes_queue.c: see routes_queue.h. */
#include "router/flow/routes_queue.h"

#include "common/base/buf.h"
#include "common/base/err.h"
#include "router/page/template.h"
#include "common/base/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MODULE "routes"

/* Names come from operators, so nobody outside can choose colliding ones; what comes from
 * outside is only looked up. Eight bytes a step, multiply and fold. */
uint64_t rt_name_hash(const char *name, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n;

    while (n > 0) {
        uint64_t w = 0;
        size_t k = n < 8 ? n : 8;

        memcpy(&w, name, k);
        h = (h ^ w) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 29;
        name += k;
        n -= k;
    }
    return h;
}

static const char *text(const char *s)
{
    return s != NULL ? s : "";
}

/* Made once, here: polls copy it as it is. Ends with a 0. */
static void put_said(struct buf *b, const char *message)
{
    if (*message != '\0') {
        buf_str(b, ",\"message\":");
        page_put_json(b, message, strlen(message));
    }
    buf_byte(b, 0);
}

/* Texts of the record that are copied behind it. */
#define TEXTS(X) \
    X(name) X(page) X(message) X(gate) X(verify_url) X(verify_allow) X(turn_queue) X(push_key) X(push_contact) X(when.draw) X(moved)

static size_t record_size(const struct map_queue *m, const struct buf *said)
{
    size_t size = sizeof(struct rt_queue) + m->n_lanes * sizeof(struct map_lane) + said->len;

#define X(member) size += strlen(text(m->member)) + 1;
    TEXTS(X)
#undef X
    for (uint32_t i = 0; i < m->n_lanes; i++) {
        const struct map_lane *l = &m->lanes[i];

        size += l->n_segs * sizeof(struct rt_seg);
        size += l->n_aliases * sizeof(struct map_alias);
        size += strlen(l->name) + 1;
    }
    return size;
}

static char *copy_str(char **at, const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = memcpy(*at, s, n);

    *at += n;
    return p;
}

static void fill_lane(struct rt_queue *q, uint32_t no, const struct map_lane *m)
{
    struct rt_lane *l = &q->lane[no];

    l->n_segs = m->n_segs;
    for (uint32_t i = 0; i < m->n_segs; i++)
        l->segs[i] = (struct rt_seg){ .id = m->segs[i].id,
                                      .queue = q,
                                      .node = m->segs[i].node,
                                      .state = m->segs[i].state,
                                      .lane = (uint8_t)no,
                                      .base = m->segs[i].base };
    l->n_aliases = m->n_aliases;
    if (m->n_aliases > 0)
        memcpy(l->aliases, m->aliases, m->n_aliases * sizeof(*m->aliases));
}

static uint32_t fnv1a(uint32_t h, const char *s)
{
    for (; *s != '\0'; s++)
        h = (h ^ (uint8_t)*s) * 0x01000193u;
    return h;
}

/* Never 0 if anything is said. */
static uint32_t page_version(const char *json, const char *message)
{
    uint32_t h = fnv1a(fnv1a(0x811c9dc5u, json), message);

    if (*json == '\0' && *message == '\0')
        return 0;
    return h != 0 ? h : 1;
}

/* A router that cannot read the rules lets nobody past: they wait like others. */
static void read_gate(struct rt_queue *q)
{
    struct err e = { 0 };

    if (*q->pub.map.gate == '\0')
        return;
    q->bypass = bypass_new(q->pub.map.gate, &e);
    if (q->bypass == NULL)
        log_error("event=bypass_rules_refused queue=%s effect=\"nobody bypasses the room\" why=%s",
                  q->pub.map.name, log_q(e.text, strlen(e.text)));
    q->pub.bypass = q->bypass;
}

void rt_queue_free(struct rt_queue *q)
{
    bypass_free(q->bypass);
    free(q);
}

/* Everything that is text, behind what must be aligned. */
static void fill_texts(struct rt_queue *q, const struct buf *said, char *at, size_t size)
{
    struct map_queue *m = &q->pub.map;

#define X(member) m->member = copy_str(&at, text(m->member));
    TEXTS(X)
#undef X
    for (uint32_t i = 0; i < m->n_lanes; i++)
        m->lanes[i].name = copy_str(&at, m->lanes[i].name);
    q->pub.said = copy_str(&at, (const char *)said->data);
    assert(at == (char *)q + size); /* written as measured */
    q->pub.page_version = page_version(m->page, m->message);
    q->hash = rt_name_hash(m->name, strlen(m->name));
}

/* Memory behind the record, in this order: lanes, segments and aliases, texts. */
static struct rt_queue *record_new(const struct map_queue *from, const struct buf *said)
{
    size_t size = record_size(from, said);
    struct rt_queue *q = calloc(1, size);
    char *at = (char *)(q + 1);

    assert(from->n_lanes <= LANES_MAX);
    if (q == NULL)
        return NULL;
    q->pub.map = *from;
    q->pub.map.lanes = (struct map_lane *)(void *)at;
    at += from->n_lanes * sizeof(struct map_lane);
    for (uint32_t i = 0; i < from->n_lanes; i++) {
        q->pub.map.lanes[i] = (struct map_lane){ .name = from->lanes[i].name };
        q->lane[i].segs = (struct rt_seg *)(void *)at;
        at += from->lanes[i].n_segs * sizeof(struct rt_seg);
        q->lane[i].aliases = (struct map_alias *)(void *)at;
        at += from->lanes[i].n_aliases * sizeof(struct map_alias);
        fill_lane(q, i, &from->lanes[i]);
    }
    fill_texts(q, said, at, size);
    if (from->session_max_s == 0) /* a queue that does not extend does not renew */
        q->pub.map.session_idle_s = 0;
    read_gate(q);
    q->pub.stats.id = from->id;
    q->pub.stats.limited_by = q->limited_by;
    return q;
}

struct rt_queue *rt_queue_new(const struct map_queue *m)
{
    struct rt_queue *q = NULL;
    struct buf said;

    buf_init(&said);
    put_said(&said, text(m->message));
    if (!said.failed)
        q = record_new(m, &said);
    buf_fini(&said);
    return q;
}

static void find_tail(struct rt_lane *l)
{
    l->tail = 0;
    while (l->tail < l->n_segs && l->segs[l->tail].state != SEG_OPEN)
        l->tail++;
}

void rt_queue_inherit(struct rt_queue *q, const struct routes *r)
{
    const struct rt_queue *old = map_get_ptr(&r->queues, q->pub.map.id);

    if (old != NULL) {
        q->pub.stats = old->pub.stats;
        memcpy(q->limited_by, old->limited_by, sizeof(q->limited_by));
        q->pub.stats.limited_by = q->limited_by;
    }
    for (uint32_t i = 0; i < q->pub.map.n_lanes; i++) {
        struct rt_lane *l = &q->lane[i];

        for (uint32_t k = 0; k < l->n_segs; k++) {
            const struct rt_seg *was = map_get_ptr(&r->segs, l->segs[k].id);

            if (was != NULL && was->state == SEG_SEALED && l->segs[k].state == SEG_OPEN)
                l->segs[k].state = SEG_SEALED; /* sealed is for ever */
        }
        find_tail(l);
    }
}

static int link_lane(struct routes *r, struct rt_lane *l)
{
    for (uint32_t k = 0; k < l->n_segs; k++)
        if (map_set_ptr(&r->segs, l->segs[k].id, &l->segs[k]) < 0)
            return SQ_ENOMEM;
    for (uint32_t k = 0; k < l->n_aliases; k++)
        if (map_set(&r->aliases, l->aliases[k].from, l->aliases[k].to) < 0)
            return SQ_ENOMEM;
    return 0;
}

int rt_queue_link(struct routes *r, struct rt_queue *q)
{
    struct rt_queue *same = map_get_ptr(&r->names, q->hash);

    if (map_set_ptr(&r->queues, q->pub.map.id, q) < 0)
        return SQ_ENOMEM;
    q->same_hash = same;
    if (map_set_ptr(&r->names, q->hash, q) < 0)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < q->pub.map.n_lanes; i++)
        if (link_lane(r, &q->lane[i]) < 0)
            return SQ_ENOMEM;
    return 0;
}

static void unlink_name(struct routes *r, struct rt_queue *q)
{
    struct rt_queue *first = map_get_ptr(&r->names, q->hash);
    struct rt_queue **p = &first;

    while (*p != NULL && *p != q)
        p = &(*p)->same_hash;
    if (*p == NULL)
        return; /* never linked: no memory */
    *p = q->same_hash;
    if (first == NULL)
        (void)map_del(&r->names, q->hash);
    else if (map_set_ptr(&r->names, q->hash, first) < 0)
        (void)map_del(&r->names, q->hash); /* cannot be: the key is there already */
}

void rt_queue_unlink(struct routes *r, struct rt_queue *q)
{
    for (uint32_t i = 0; i < q->pub.map.n_lanes; i++) {
        struct rt_lane *l = &q->lane[i];

        for (uint32_t k = 0; k < l->n_segs; k++)
            if (map_get_ptr(&r->segs, l->segs[k].id) == &l->segs[k])
                (void)map_del(&r->segs, l->segs[k].id);
        for (uint32_t k = 0; k < l->n_aliases; k++)
            (void)map_del(&r->aliases, l->aliases[k].from);
    }
    unlink_name(r, q);
    (void)map_del(&r->queues, q->pub.map.id);
    rt_queue_free(q);
}
