/* attempts.c: the attempts of a task are a row of numbers, written anew with each one. */
#include "task/store/attempts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "task/containers/wheel.h"

void attempts_init(struct attempts *h)
{
    memset(h, 0, sizeof(*h));
    map_init(&h->by_slot, 0);
}

void attempts_fini(struct attempts *h)
{
    uint64_t slot, past;

    for (size_t i = 0; (i = map_next(&h->by_slot, i, &slot, &past)) != 0;)
        free((void *)(uintptr_t)past);
    map_fini(&h->by_slot);
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
