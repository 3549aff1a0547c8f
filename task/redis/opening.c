/* opening.c: the commands of each step, and what their answers mean. */
#include "task/redis/opening.h"

#include <assert.h>

#include "common/base/err.h"

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
