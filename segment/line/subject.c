/* subject.c: records in an array, found by ticket and by keyed hash. */
#include "segment/line/subject.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void subjects_init(struct subjects *s)
{
    memset(s, 0, sizeof(*s));
    ticket_idx_init(&s->by_ticket, sizeof(struct subject));
    map_init(&s->by_hash, 0);
}

static void told(const struct subjects *s, const struct subject *x, bool here)
{
    if (s->watch.fn != NULL && subject_has_name(x->text, x->len))
        s->watch.fn(s->watch.ctx, x, here);
}

void subjects_fini(struct subjects *s)
{
    struct subjects was = *s;

    subjects_init(s);
    s->watch = was.watch;
    ticket_idx_fini(&was.by_ticket);
    map_fini(&was.by_hash);
    for (uint32_t i = 0; i < was.cap; i++) {
        if (was.v[i].text != NULL)
            told(s, &was.v[i], false);
        free(was.v[i].text);
    }
    free(was.v);
}

static int reserve(struct subjects *s, uint32_t n) /* n more records */
{
    uint64_t want = (uint64_t)s->n + n, cap = s->cap < 16 ? 16 : s->cap * 3ull / 2;
    struct subject *v;

    if (want > UINT32_MAX / 2)
        return SQ_ENOMEM;
    if (ticket_idx_reserve(&s->by_ticket, s->v, (uint32_t)want) < 0)
        return SQ_ENOMEM;
    if (want <= s->cap)
        return 0;
    cap = u64_max(cap, want);
    v = realloc(s->v, cap * sizeof(*v));
    if (v == NULL)
        return SQ_ENOMEM;
    s->v = v;
    for (uint32_t i = (uint32_t)cap; i-- > s->cap;) {
        v[i] = (struct subject) { .hash = s->free };
        s->free = i + 1;
    }
    s->cap = (uint32_t)cap;
    return 0;
}

int subjects_add(struct subjects *s, const struct subject *x)
{
    uint32_t i;
    char *text;

    if (reserve(s, 1) < 0)
        return SQ_ENOMEM;
    text = malloc(x->len > 0 ? x->len : 1);
    if (text == NULL)
        return SQ_ENOMEM;
    assert(s->free != 0 && s->free <= s->cap); /* reserved */
    i = s->free - 1;
    if (map_set(&s->by_hash, x->hash, i) < 0) {
        free(text);
        return SQ_ENOMEM;
    }
    s->free = (uint32_t)s->v[i].hash;
    memcpy(text, x->text, x->len);
    s->v[i] = *x;
    s->v[i].text = text;
    s->n++;
    ticket_idx_put(&s->by_ticket, s->v, i);
    told(s, &s->v[i], true);
    return 0;
}

bool subjects_has(const struct subjects *s, uint64_t hash)
{
    return s->n > 0 && map_get(&s->by_hash, hash) != MAP_NONE;
}

/* By the names, whatever their passes are bound to. Two names with one hash: the later one hides
 * the earlier, and neither gets the other's ticket. */
const struct subject *subjects_by_name(const struct subjects *s, uint64_t hash,
                                       const char *text, size_t len)
{
    uint64_t i = s->n > 0 ? map_get(&s->by_hash, hash) : MAP_NONE;
    const struct subject *x = i != MAP_NONE ? &s->v[i] : NULL;
    size_t head = subject_head(text, len), own = x != NULL ? subject_head(x->text, x->len) : 0;

    if (x == NULL || x->len - own != len - head ||
        memcmp(x->text + own, text + head, len - head) != 0)
        return NULL;
    return x;
}

const struct subject *subjects_by_ticket(const struct subjects *s, struct ticket_id id)
{
    uint32_t i = s->n > 0 ? ticket_idx_find(&s->by_ticket, s->v, id) : TICKET_IDX_NONE;

    return i != TICKET_IDX_NONE ? &s->v[i] : NULL;
}

void subjects_found(struct subjects *s, struct ticket_id id)
{
    uint32_t i = s->n > 0 ? ticket_idx_find(&s->by_ticket, s->v, id) : TICKET_IDX_NONE;

    if (i != TICKET_IDX_NONE)
        s->v[i].fresh = false;
}

void subjects_del_known(struct subjects *s, struct ticket_id id)
{
    struct subject gone;
    uint32_t i = ticket_idx_find(&s->by_ticket, s->v, id);

    if (i == TICKET_IDX_NONE)
        return;
    ticket_idx_del(&s->by_ticket, s->v, i);
    if (map_get(&s->by_hash, s->v[i].hash) == i)
        map_del(&s->by_hash, s->v[i].hash);
    gone = s->v[i];
    s->v[i] = (struct subject) { .hash = s->free };
    s->free = i + 1;
    if (--s->n == 0)
        subjects_fini(s);
    told(s, &gone, false);
    free(gone.text);
}

const struct subject *subjects_next(const struct subjects *s, uint32_t *i)
{
    while (*i < s->cap) {
        const struct subject *x = &s->v[(*i)++];

        if (x->text != NULL)
            return x;
    }
    return NULL;
}
