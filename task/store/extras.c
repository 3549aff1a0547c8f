/* extras.c: a table of what tasks have, with a count of tasks each. */
#include "task/store/extras.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "task/containers/wheel.h"

static struct owned_by_tasks *at(const struct owns *o, uint64_t i)
{
    return pages_at(&o->v, (uint32_t)i);
}

void owns_init(struct owns *o)
{
    memset(o, 0, sizeof(*o));
    pages_init(&o->v, sizeof(struct owned_by_tasks));
    map_init(&o->by_slot, 0);
    map_init(&o->by_hash, 0);
}

void owns_fini(struct owns *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (at(o, i)->tasks > 0)
            free((char *)(uintptr_t)at(o, i)->own.labels);
    pages_fini(&o->v);
    map_fini(&o->by_slot);
    map_fini(&o->by_hash);
}

/* A hash without a key: who may submit has a server's token, nobody looks for two with the same one, and two would
 * only be kept apart. */
static uint64_t hash_of(const struct task_own *own)
{
    uint64_t h = 0xcbf29ce484222325u;

#define X(m, least, most) h = (h ^ own->m) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    TASK_OWN(X)
#undef X
    for (const char *p = own->labels; p != NULL && *p != 0; p++)
        h = (h ^ (uint8_t)*p) * 0x100000001b3u;
    return h * 0x9e3779b97f4a7c15u;
}

/* An entry with these, that no task has yet. MAP_NONE: no memory. */
static uint64_t add(struct owns *o, const struct task_own *own, uint64_t hash)
{
    uint32_t i = o->free != 0 ? o->free - 1 : o->n;
    char *labels = strdup(own->labels != NULL ? own->labels : "");

    if (labels == NULL || pages_reach(&o->v, i) < 0 ||
        (map_get(&o->by_hash, hash) == MAP_NONE && map_set(&o->by_hash, hash, i) < 0)) {
        free(labels);
        return MAP_NONE;
    }
    if (o->free != 0)
        o->free = at(o, i)->next;
    else
        o->n++;
    *at(o, i) = (struct owned_by_tasks){ .own = *own, .hash = hash };
    at(o, i)->own.labels = labels;
    return i;
}

/* A task has it no longer. */
static void let_go(struct owns *o, uint64_t i)
{
    struct owned_by_tasks *e = at(o, i);

    if (e->tasks > 0 && --e->tasks > 0)
        return;
    if (map_get(&o->by_hash, e->hash) == i)
        map_del(&o->by_hash, e->hash);
    free((char *)(uintptr_t)e->own.labels);
    *e = (struct owned_by_tasks){ .next = o->free };
    o->free = (uint32_t)i + 1;
}

int owns_set(struct owns *o, task_slot slot, const struct task_own *own)
{
    uint64_t hash = hash_of(own), was = map_get(&o->by_slot, slot);
    uint64_t i = map_get(&o->by_hash, hash);

    if (own_is_none(own)) {
        owns_drop(o, slot);
        return 0;
    }
    if (i == MAP_NONE || !own_equal(&at(o, i)->own, own))
        i = add(o, own, hash);
    if (i == MAP_NONE)
        return SQ_ENOMEM;
    if (map_set(&o->by_slot, slot, i) < 0) {
        if (at(o, i)->tasks == 0)
            let_go(o, i);
        return SQ_ENOMEM;
    }
    at(o, i)->tasks++;
    if (was != MAP_NONE)
        let_go(o, was);
    return 0;
}

void owns_drop(struct owns *o, task_slot slot)
{
    uint64_t i = o->by_slot.n > 0 ? map_get(&o->by_slot, slot) : MAP_NONE;

    if (i == MAP_NONE)
        return;
    map_del(&o->by_slot, slot);
    let_go(o, i);
}

uint64_t owns_bytes(const struct owns *o)
{
    return pages_bytes(&o->v) + (o->by_slot.cap + o->by_hash.cap) * sizeof(struct map_slot);
}

/* ---- chains ------------------------------------------------------------------------------- */

/* A block of memory for each, and one for what is to be submitted. */

void chains_init(struct chains *c)
{
    *c = (struct chains){ 0 };
    map_init(&c->by_slot, 0);
}

static void forget(struct chains *c, struct chain *k)
{
    c->bytes -= sizeof(*k) + k->n;
    free(k->then);
    free(k);
}

void chains_fini(struct chains *c)
{
    uint64_t slot, val;

    for (size_t i = 0; (i = map_next(&c->by_slot, i, &slot, &val)) != 0;)
        forget(c, (struct chain *)(uintptr_t)val);
    map_fini(&c->by_slot);
}

int chains_set(struct chains *c, task_slot slot, const struct chain *is)
{
    struct chain *was = map_get_ptr(&c->by_slot, slot), *k;
    char *then;

    if (was != NULL && is->n == 0) { /* needs no memory */
        c->bytes -= was->n;
        free(was->then);
        *was = *is;
        was->then = NULL;
        return 0;
    }
    k = malloc(sizeof(*k));
    then = is->n > 0 ? malloc(is->n) : NULL;

    if (k == NULL || (is->n > 0 && then == NULL) || map_set_ptr(&c->by_slot, slot, k) < 0) {
        free(then);
        free(k);
        return SQ_ENOMEM;
    }
    *k = *is;
    k->then = is->n > 0 ? memcpy(then, is->then, is->n) : NULL;
    c->bytes += sizeof(*k) + k->n;
    if (was != NULL)
        forget(c, was);
    return 0;
}

void chains_drop(struct chains *c, task_slot slot)
{
    struct chain *k = c->by_slot.n > 0 ? map_get_ptr(&c->by_slot, slot) : NULL;

    if (k == NULL)
        return;
    (void)map_del(&c->by_slot, slot);
    forget(c, k);
}

void chains_end(struct chains *c, task_slot slot)
{
    struct chain *k = c->by_slot.n > 0 ? map_get_ptr(&c->by_slot, slot) : NULL;

    if (k == NULL || k->state != CHAIN_WAITS)
        return;
    c->bytes -= k->n;
    free(k->then);
    k->then = NULL;
    k->n = 0;
    k->state = CHAIN_ENDED;
}

uint64_t chains_bytes(const struct chains *c)
{
    return c->bytes + c->by_slot.cap * sizeof(struct map_slot);
}

/* ---- offers ------------------------------------------------------------------------------- */

/* A block of memory for each, found by the slots of all of its places. */

void offers_init(struct offers *o)
{
    *o = (struct offers){ 0 };
    map_init(&o->by_slot, 0);
}

void offers_fini(struct offers *o)
{
    uint64_t slot, val;

    if (o->next != NULL)
        offers_drop(o, o->next);
    for (size_t i = 0; (i = map_next(&o->by_slot, i, &slot, &val)) != 0;)
        if (--((struct offer *)(uintptr_t)val)->n == 0) /* by the last of its slots; the next one's own is not there */
            free((void *)(uintptr_t)val);
    map_fini(&o->by_slot);
}

int offers_add(struct offers *o, task_slot slot, uint64_t entry)
{
    struct offer *f = o->next != NULL ? o->next : calloc(1, sizeof(*f));

    if (f == NULL)
        return SQ_ENOMEM;
    if (f->n == 0)
        f->task = SLOT_NONE;
    o->next = f;
    if (f->n == OFFER_QUEUES || (slot == SLOT_NONE && f->n > f->own && f->v[f->own].slot == SLOT_NONE))
        return SQ_EPROTO;
    if (slot != SLOT_NONE && map_set_ptr(&o->by_slot, slot, f) < 0)
        return SQ_ENOMEM;
    if (slot == SLOT_NONE)
        f->own = f->n;
    f->v[f->n++] = (struct offer_place){ slot, entry };
    return 0;
}

int offers_adopt(struct offers *o, task_slot task)
{
    struct offer *f = o->next;

    if (f->v[f->own].slot != SLOT_NONE)
        return SQ_EPROTO;
    if (map_set_ptr(&o->by_slot, task, f) < 0)
        return SQ_ENOMEM;
    f->task = f->v[f->own].slot = task;
    o->next = NULL;
    o->n++;
    return 0;
}

void offers_orphan(struct offers *o, struct offer *f)
{
    (void)map_del(&o->by_slot, f->task);
    f->task = f->v[f->own].slot = SLOT_NONE;
    o->next = f;
    o->n--;
}

void offers_drop(struct offers *o, struct offer *f)
{
    for (unsigned i = 0; i < f->n; i++)
        if (f->v[i].slot != SLOT_NONE)
            (void)map_del(&o->by_slot, f->v[i].slot);
    if (o->next == f)
        o->next = NULL;
    else
        o->n--;
    free(f);
}

uint64_t offers_bytes(const struct offers *o)
{
    return o->n * sizeof(struct offer) + o->by_slot.cap * sizeof(struct map_slot);
}

/* ---- attempts ----------------------------------------------------------------------------- */

/* The attempts of a task are a row of numbers, written anew with each one. */

void attempts_init(struct attempts *h)
{
    memset(h, 0, sizeof(*h));
    map_init(&h->by_slot, 0);
}

void attempts_fini(struct attempts *h)
{
    map_fini_all(&h->by_slot);
}

/* Else one of them is not known. */
static bool is_in(msec_t from, msec_t to)
{
    return from > 0 && from <= to;
}

static void encode(const struct attempt *a, struct buf *b)
{
    buf_varint(b, a->no);
    buf_varint(b, a->end);
    buf_varint(b, a->number);
    buf_varint(b, (uint64_t)a->ended);
    buf_varint(b, is_in(a->started, a->ended) ? (uint64_t)(a->ended - a->started) + 1 : 0);
    buf_varint(b, is_in(a->ended, a->again) ? (uint64_t)(a->again - a->ended) + 1 : 0);
    buf_varint(b, a->reason_len);
    buf_append(b, a->reason, a->reason_len);
}

/* The end of the attempt; NULL: it is none. */
static const uint8_t *decode(const uint8_t *p, const uint8_t *end, struct attempt *a)
{
    enum { NO, END, NUMBER, ENDED, LASTED, WAIT, REASON, N };
    uint64_t v[N];

    for (unsigned i = 0; i < N && p != NULL; i++)
        p = varint_get(p, end, &v[i]);
    if (p == NULL || v[NO] > ATTEMPTS_MAX || v[END] == 0 || v[END] > UINT8_MAX ||
        v[NUMBER] > UINT32_MAX || v[ENDED] == 0 || v[ENDED] >= (uint64_t)WHEEL_MAX ||
        v[LASTED] > v[ENDED] || v[WAIT] > (uint64_t)WHEEL_MAX - v[ENDED] ||
        v[REASON] > ATTEMPT_REASON || v[REASON] > (size_t)(end - p))
        return NULL;
    *a = (struct attempt){ .no = (uint32_t)v[NO], .end = (uint8_t)v[END],
                           .number = (uint32_t)v[NUMBER], .ended = (msec_t)v[ENDED],
                           .reason_len = (uint32_t)v[REASON], .reason = (const char *)p };
    if (v[LASTED] != 0)
        a->started = a->ended - (msec_t)v[LASTED] + 1;
    if (v[WAIT] != 0)
        a->again = a->ended + (msec_t)v[WAIT] - 1;
    return p + v[REASON];
}

/* How many; < 0: they are none. */
static int read_all(const uint8_t *p, size_t len, struct attempt *v)
{
    const uint8_t *end = p + len;
    int n = 0;

    for (; p < end; n++) {
        p = n < ATTEMPTS_KEPT ? decode(p, end, &v[n]) : NULL;
        if (p == NULL)
            return SQ_EPROTO;
    }
    return n;
}

unsigned attempts_of(const struct attempts *h, task_slot slot, struct attempt *v, uint32_t *earlier)
{
    const struct past *p = attempts_past(h, slot);
    int n = p != NULL ? read_all(p->bytes, p->len, v) : 0;

    assert(n >= 0); /* our own */
    *earlier = p != NULL ? p->earlier : 0;
    return (unsigned)n;
}

void attempts_drop(struct attempts *h, task_slot slot)
{
    struct past *p = (struct past *)(uintptr_t)attempts_past(h, slot);

    if (p == NULL)
        return;
    h->bytes -= sizeof(*p) + p->len;
    map_del(&h->by_slot, slot);
    free(p);
}

static int set(struct attempts *h, task_slot slot, uint32_t earlier, const void *bytes, size_t n)
{
    struct past *p = malloc(sizeof(*p) + n);
    struct past *was = (struct past *)(uintptr_t)attempts_past(h, slot);

    if (p == NULL || map_set_ptr(&h->by_slot, slot, p) < 0) {
        free(p);
        return SQ_ENOMEM;
    }
    *p = (struct past){ .earlier = earlier, .len = (uint32_t)n };
    memcpy(p->bytes, bytes, n);
    h->bytes += sizeof(*p) + n;
    if (was != NULL)
        h->bytes -= sizeof(*was) + was->len;
    free(was);
    return 0;
}

/* The newest of them that have room. */
static void set_attempts(struct attempts *h, task_slot slot, const struct attempt *v, unsigned n,
                         uint32_t earlier)
{
    unsigned first = n > ATTEMPTS_KEPT ? n - ATTEMPTS_KEPT : 0;
    struct buf b;

    buf_init(&b);
    for (;; first++) {
        buf_reset(&b);
        for (unsigned i = first; i < n; i++)
            encode(&v[i], &b);
        if (b.failed || b.len <= ATTEMPTS_BYTES || first + 1 == n)
            break;
    }
    if (!b.failed)
        (void)!set(h, slot, earlier + first, b.data, b.len);
    buf_fini(&b);
}

void attempts_add(struct attempts *h, task_slot slot, const struct attempt *a)
{
    struct attempt v[ATTEMPTS_KEPT + 1];
    uint32_t earlier;
    unsigned n = attempts_of(h, slot, v, &earlier);

    assert(a->no <= ATTEMPTS_MAX && a->end != 0 && a->reason_len <= ATTEMPT_REASON);
    v[n] = *a;
    v[n].ended = ms_max(a->ended, 1);
    set_attempts(h, slot, v, n + 1, earlier);
}

void attempts_explain(struct attempts *h, task_slot slot, uint32_t number, const char *reason,
                     uint32_t n)
{
    struct attempt v[ATTEMPTS_KEPT];
    uint32_t earlier;
    unsigned rows = attempts_of(h, slot, v, &earlier);

    if (rows == 0)
        return;
    v[rows - 1].number = number;
    v[rows - 1].reason = reason;
    v[rows - 1].reason_len = n;
    set_attempts(h, slot, v, rows, earlier);
}

int attempts_load(struct attempts *h, task_slot slot, uint64_t earlier, const void *p, uint32_t n)
{
    struct attempt v[ATTEMPTS_KEPT];

    if (n == 0 || n > ATTEMPTS_BYTES || earlier > UINT32_MAX || read_all(p, n, v) < 0)
        return SQ_EPROTO;
    return set(h, slot, (uint32_t)earlier, p, n);
}

uint64_t attempts_bytes(const struct attempts *h)
{
    return h->bytes + h->by_slot.cap * sizeof(struct map_slot);
}

/* ---- replies ----------------------------------------------------------------------- */

void replies_init(struct replies *r)
{
    map_init(&r->by_slot, 0);
}

void replies_fini(struct replies *r)
{
    map_fini(&r->by_slot);
}

int replies_set(struct replies *r, task_slot slot, uint64_t ref)
{
    assert(ref != 0 && ref != MAP_NONE);
    return map_set(&r->by_slot, slot, ref);
}

void replies_drop(struct replies *r, task_slot slot)
{
    if (r->by_slot.n > 0)
        (void)map_del(&r->by_slot, slot);
}

uint64_t replies_bytes(const struct replies *r)
{
    return r->by_slot.cap * sizeof(struct map_slot);
}

/* ---- units ------------------------------------------------------------------------- */

void settled_init(struct settled *s)
{
    *s = (struct settled){ 0 };
    map_init(&s->by_slot, 0);
}

void settled_fini(struct settled *s)
{
    map_fini(&s->by_slot);
}

int settled_set(struct settled *s, task_slot slot, uint64_t units)
{
    assert(units != MAP_NONE);
    return map_set(&s->by_slot, slot, units);
}

void settled_drop(struct settled *s, task_slot slot)
{
    if (s->by_slot.n > 0)
        (void)map_del(&s->by_slot, slot);
}

uint64_t settled_bytes(const struct settled *s)
{
    return s->by_slot.cap * sizeof(struct map_slot);
}
