/* writes.c: batches of what a partition says; numbers decide what counts. */
#include "task/redis/writes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/err.h"
#include "task/store/record.h"

#define REF_LEN_BITS (64 - WRITES_NUMBERS)

struct writes_put {
    uint64_t ref;
    size_t at; /* in `bytes` */
};

struct writes_want {
    uint64_t ref;
    uint8_t *to; /* ref */
};

#define each_in(b, type, x)                                                              \
    for (type *x = (type *)(void *)(b)->data, *end_##x = x + (b)->len / sizeof(type);    \
         x < end_##x; x++)

/* ---- one batch ------------------------------------------------------------------- */

static void batch_reset(struct writes_batch *b)
{
    buf_reset(&b->group);
    buf_reset(&b->bytes);
    buf_reset(&b->puts);
    buf_reset(&b->gone);
    buf_reset(&b->wants);
    b->asked = b->slice_first = b->slice_last = false;
    b->slice_n = 0;
}

static void batch_fini(struct writes_batch *b)
{
    buf_fini(&b->group);
    buf_fini(&b->bytes);
    buf_fini(&b->puts);
    buf_fini(&b->gone);
    buf_fini(&b->wants);
}

static bool batch_failed(const struct writes_batch *b)
{
    return b->group.failed || b->bytes.failed || b->puts.failed || b->gone.failed ||
           b->wants.failed;
}

static bool batch_has(const struct writes_batch *b)
{
    return b->asked || b->group.len + b->puts.len + b->gone.len + b->wants.len > 0;
}

/* ---- life ------------------------------------------------------------------------ */

void writes_init(struct writes *s, uint64_t epoch, const char *nonce)
{
    *s = (struct writes){ .epoch = epoch };
    snprintf(s->fence, sizeof(s->fence), "%" PRIu64 " %s", epoch, nonce);
}

void writes_fini(struct writes *s)
{
    batch_fini(&s->next);
    batch_fini(&s->sent);
    buf_fini(&s->snap);
}

void writes_found(struct writes *s, uint64_t n, uint64_t groups, uint64_t log_bytes,
                  uint64_t snap_bytes)
{
    assert(!s->open);
    s->done = n;
    s->groups = groups;
    s->log_bytes = log_bytes;
    s->snap_bytes = snap_bytes;
}

bool writes_failed(const struct writes *s)
{
    return batch_failed(&s->next) || batch_failed(&s->sent) || s->snap.failed;
}

/* ---- what is gathered ------------------------------------------------------------ */

void *writes_record(struct writes *s, uint8_t kind, size_t n)
{
    return trec_room(&s->next.group, kind, n);
}

uint32_t writes_ref_bytes(uint64_t ref)
{
    return (uint32_t)(ref & ((1u << REF_LEN_BITS) - 1));
}

int writes_put(struct writes *s, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    struct writes_batch *b = &s->next;
    struct writes_put put = { .at = b->bytes.len };

    assert(n > 0 && n < 1u << REF_LEN_BITS);
    put.ref = (s->bodies + 1) << REF_LEN_BITS | n;
    buf_append(&b->bytes, p, n);
    buf_append(&b->puts, &put, sizeof(put));
    if (batch_failed(b))
        return SQ_ENOMEM;
    s->bodies++;
    *ref = put.ref;
    return 0;
}

void writes_drop(struct writes *s, uint64_t ref)
{
    struct writes_batch *b = &s->next;
    size_t n = b->puts.len / sizeof(struct writes_put);
    const struct writes_put *last = (struct writes_put *)(void *)b->puts.data;

    if (n > 0 && last[n - 1].ref == ref) { /* ignored, as not come */
        b->puts.len -= sizeof(*last);
        b->bytes.len = last[n - 1].at;
        return;
    }
    buf_append(&b->gone, &ref, sizeof(ref));
}

int writes_want(struct writes *s, uint64_t ref, uint8_t *to)
{
    struct writes_want w = { ref, to };

    buf_append(&s->next.wants, &w, sizeof(w));
    return s->next.wants.failed ? SQ_ENOMEM : 0;
}

void writes_saw(struct writes *s, uint64_t ref)
{
    s->bodies = u64_max(s->bodies, ref >> REF_LEN_BITS);
}

uint64_t writes_ask(struct writes *s)
{
    s->next.asked = true;
    return s->done + s->open + 1;
}

void writes_want_nothing(struct writes *s)
{
    buf_reset(&s->next.wants);
    buf_reset(&s->sent.wants);
}

/* ---- snapshots ------------------------------------------------------------------- */

bool writes_wants_snap(const struct writes *s, uint64_t least)
{
    return s->open && s->snap.len == 0 && s->log_bytes >= u64_max(least, s->snap_bytes);
}

void *writes_snap_record(struct writes *s, uint8_t kind, size_t n)
{
    return trec_room(&s->snap, kind, n);
}

void writes_snap_whole(struct writes *s)
{
    assert(s->open && !batch_has(&s->next)); /* or a group would be newer than the snapshot */
    s->covers = s->groups + (s->sent.group.len > 0);
    s->snap_at = 0;
    s->log_bytes = 0;
}

/* Slices end where a record does: each can be read alone. */
static size_t slice_end(const struct writes *s)
{
    size_t at = s->snap_at;
    struct trec_frame f;

    while (at - s->snap_at < WRITES_SLICE && trec_next(s->snap.data, s->snap.len, &at, &f))
        ;
    return at;
}

static void add_slice(struct writes *s, struct writes_batch *b)
{
    size_t end = slice_end(s);

    b->slice_at = s->snap_at;
    b->slice_n = end - s->snap_at;
    b->slice_first = s->snap_at == 0;
    b->slice_last = end == s->snap.len;
    b->replaces = s->covers;
    s->snap_at = end;
}

/* ---- one command ----------------------------------------------------------------- */

bool writes_begin(struct writes *s)
{
    struct writes_batch empty = s->sent;

    if (s->open || (!batch_has(&s->next) && s->snap_at == s->snap.len))
        return false;
    s->sent = s->next;
    s->next = empty;
    batch_reset(&s->next);
    s->log_bytes += s->sent.group.len;
    if (s->snap_at < s->snap.len)
        add_slice(s, &s->sent);
    s->open = true;
    return true;
}

static void arg_ref(struct redis_command *c, const uint64_t *ref)
{
    redis_arg(&c->a, (const char *)ref, sizeof(*ref));
}

static void arg_buf(struct redis_command *c, const uint8_t *p, size_t n)
{
    redis_arg(&c->a, n > 0 ? (const char *)p : "", n);
}

static void arg_puts(const struct writes_batch *b, struct redis_command *c)
{
    each_in (&b->puts, const struct writes_put, p) {
        size_t end = p + 1 < end_p ? p[1].at : b->bytes.len;

        arg_ref(c, &p->ref);
        arg_buf(c, b->bytes.data + p->at, end - p->at);
    }
}

void writes_args(const struct writes *s, struct redis_command *c)
{
    const struct writes_batch *b = &s->sent;

    assert(s->open);
    redis_arg_str(&c->a, s->fence);
    redis_arg_u64(c, s->epoch);
    redis_arg_u64(c, s->done + 1);
    arg_buf(c, b->group.data, b->group.len);
    redis_arg_u64(c, b->puts.len / sizeof(struct writes_put));
    redis_arg_u64(c, b->gone.len / sizeof(uint64_t));
    arg_buf(c, s->snap.data + b->slice_at, b->slice_n);
    redis_arg_u64(c, b->slice_first);
    redis_arg_u64(c, b->slice_last);
    redis_arg_u64(c, b->replaces);
    arg_puts(b, c);
    each_in (&b->gone, const uint64_t, ref)
        arg_ref(c, ref);
    each_in (&b->wants, const struct writes_want, w) {
        arg_ref(c, &w->ref);
        c->a.answer_bytes += writes_ref_bytes(w->ref);
    }
}

/* Copies what was wanted. False: a body is not there as it was. */
static bool copy_wanted(const struct writes_batch *b, const struct redis_ans *a)
{
    size_t i = 1;

    each_in (&b->wants, const struct writes_want, w) {
        const char *p;
        size_t n;

        if (!redis_ans_text(a, i++, &p, &n) || n != writes_ref_bytes(w->ref))
            return false;
        memcpy(w->to, p, n);
    }
    return true;
}

enum writes_verdict writes_judge(struct writes *s, const struct redis_ans *a)
{
    int64_t result;

    assert(s->open);
    if (a->fault != REDIS_NONE || !redis_ans_int(a, 0, &result))
        return WRITES_AGAIN;
    switch (result) {
    case TASK_REDIS_STALE:
        return WRITES_STALE;
    case TASK_REDIS_DONE:
        return copy_wanted(&s->sent, a) ? WRITES_DONE : WRITES_GAP;
    default:
        return WRITES_GAP;
    }
}

void writes_end(struct writes *s)
{
    const struct writes_batch *b = &s->sent;

    assert(s->open);
    s->done++;
    s->groups += b->group.len > 0;
    if (b->slice_last) {
        s->groups -= b->replaces;
        s->snap_bytes = s->snap.len;
        s->snap_at = 0;
        buf_reset(&s->snap);
    }
    batch_reset(&s->sent);
    s->open = false;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* The commands of each step, and what their answers mean. */

#define ITEMS_AT_ONCE 256         /* slices, groups */
#define BYTES_AT_ONCE (32u << 20) /* about: such an answer gets more time */

enum { KEY_SNAP = 2, KEY_LOG = 1, KEY_BODY = 3 };

void opening_begin(struct opening *o)
{
    opening_fini(o);
    map_init(&o->bodies, 0); /* keys are our own */
}

void opening_fini(struct opening *o)
{
    buf_fini(&o->records);
    map_fini(&o->bodies);
    *o = (struct opening){ 0 };
}

/* ---- commands -------------------------------------------------------------------- */

static void range(const struct opening *o, const char *key, struct redis_command *c)
{
    *c = (struct redis_command){ 0 };
    redis_arg_str(&c->a, "LRANGE");
    redis_arg_str(&c->a, key);
    redis_arg_u64(c, o->at);
    redis_arg_u64(c, o->at + ITEMS_AT_ONCE - 1);
    c->a.answer_bytes = BYTES_AT_ONCE;
}

void opening_command(const struct opening *o, const struct writes *s,
                     const char (*key)[REDIS_KEY_BYTES], struct redis_command *c)
{
    switch (o->step) {
    case OPENING_FENCE:
        redis_eval(c, TASK_REDIS_OPEN, key, TASK_REDIS_KEYS);
        redis_arg_str(&c->a, s->fence);
        redis_arg_u64(c, s->epoch);
        break;
    case OPENING_SNAP:
        range(o, key[KEY_SNAP], c);
        break;
    case OPENING_LOG:
        range(o, key[KEY_LOG], c);
        break;
    default:
        assert(o->step == OPENING_BODIES);
        *c = (struct redis_command){ 0 };
        redis_arg_str(&c->a, "HKEYS");
        redis_arg_str(&c->a, key[KEY_BODY]);
        c->a.answer_bytes = BYTES_AT_ONCE;
    }
}

/* ---- answers --------------------------------------------------------------------- */

static void skip_empty(struct opening *o)
{
    if (o->step == OPENING_SNAP && o->at == o->slices) {
        o->step = OPENING_LOG;
        o->at = 0;
        o->snap_bytes = o->records.len;
    }
    if (o->step == OPENING_LOG && o->at == o->groups)
        o->step = OPENING_BODIES;
}

static enum opening_verdict fenced(struct opening *o, const struct redis_ans *a)
{
    int64_t v[4];

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (!redis_ans_int(a, i, &v[i]) || v[i] < 0)
            return OPENING_AGAIN;
    if (v[0] != TASK_REDIS_DONE)
        return OPENING_STALE;
    o->n = (uint64_t)v[1];
    o->groups = (uint64_t)v[2];
    o->slices = (uint64_t)v[3];
    o->step = OPENING_SNAP;
    skip_empty(o);
    return OPENING_MORE;
}

/* Refuses fewer than there were: nobody else writes, so that is no answer to our question. */
static enum opening_verdict ranged(struct opening *o, const struct redis_ans *a)
{
    uint64_t most = o->step == OPENING_SNAP ? o->slices : o->groups;
    size_t n = redis_ans_n(a);

    if (n == 0 || o->at + n > most)
        return OPENING_AGAIN;
    for (size_t i = 0; i < n; i++) {
        const char *p;
        size_t len;

        if (!redis_ans_text(a, i, &p, &len))
            return OPENING_AGAIN;
        buf_append(&o->records, p, len);
    }
    o->at += n;
    skip_empty(o);
    return o->records.failed ? OPENING_ENOMEM : OPENING_MORE;
}

static enum opening_verdict named(struct opening *o, struct writes *s, const struct redis_ans *a)
{
    for (size_t i = 0, n = redis_ans_n(a); i < n; i++) {
        const char *p;
        uint64_t ref;
        size_t len;

        if (!redis_ans_text(a, i, &p, &len) || len != sizeof(ref))
            return OPENING_AGAIN;
        memcpy(&ref, p, sizeof(ref));
        writes_saw(s, ref);
        if (map_set(&o->bodies, ref, 1) < 0)
            return OPENING_ENOMEM;
    }
    o->step = OPENING_READ;
    writes_found(s, o->n, o->groups, o->records.len - o->snap_bytes, o->snap_bytes);
    return OPENING_DONE;
}

enum opening_verdict opening_judge(struct opening *o, struct writes *s, const struct redis_ans *a)
{
    if (a->fault != REDIS_NONE)
        return OPENING_AGAIN;
    switch (o->step) {
    case OPENING_FENCE:
        return fenced(o, a);
    case OPENING_SNAP:
    case OPENING_LOG:
        return ranged(o, a);
    default:
        return named(o, s, a);
    }
}
