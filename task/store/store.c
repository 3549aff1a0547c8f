/* store.c: slots, the row of free ones, counts. */
#include "task/store/store.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

static size_t size_of(uint32_t text_n, uint32_t data_n)
{
    return sizeof(struct progress) + text_n + data_n;
}

void progresses_init(struct progresses *p)
{
    *p = (struct progresses){ 0 };
    map_init(&p->by_slot, 0);
}

void progresses_fini(struct progresses *p)
{
    map_fini_all(&p->by_slot);
}

int progresses_set(struct progresses *p, uint32_t slot, const struct worker_said *s, msec_t at)
{
    struct progress *was = map_get_ptr(&p->by_slot, slot), *x;
    size_t had = was != NULL ? size_of(was->text_n, was->data_n) : 0, n = size_of(s->text_n, s->data_n);

    if (s->percent > 101 || s->text_n > PROGRESS_TEXT || s->data_n > PROGRESS_DATA)
        return SQ_EINVAL;
    if (p->bytes - had + n > PROGRESSES_BYTES || (x = realloc(was, n)) == NULL)
        return SQ_ENOMEM;
    if (map_set_ptr(&p->by_slot, slot, x) < 0) { /* a slot that is there needs no memory */
        free(x);
        return SQ_ENOMEM;
    }
    x->at = at;
    x->serial = ++p->serial;
    x->percent = s->percent;
    x->text_n = (uint16_t)s->text_n;
    x->data_n = (uint16_t)s->data_n;
    if (s->text_n > 0)
        memcpy(x->bytes, s->text, s->text_n);
    if (s->data_n > 0)
        memcpy(x->bytes + s->text_n, s->data, s->data_n);
    p->bytes += n - had;
    return 0;
}

static void progresses_drop(struct progresses *p, uint32_t slot)
{
    struct progress *x = map_get_ptr(&p->by_slot, slot);

    if (x == NULL)
        return;
    p->bytes -= size_of(x->text_n, x->data_n);
    (void)map_del(&p->by_slot, slot);
    free(x);
}

uint64_t progresses_bytes(const struct progresses *p)
{
    return p->bytes + p->by_slot.cap * sizeof(struct map_slot);
}

void task_store_init(struct task_store *s, uint32_t max)
{
    assert(max > 0 && max <= TASKS_MAX);
    memset(s, 0, sizeof(*s));
    pages_init(&s->slots, sizeof(struct task));
    s->max = max;
    s->next_order = 1;
}

void task_store_fini(struct task_store *s)
{
    pages_fini(&s->slots);
}

static task_slot next_slot(const struct task_store *s)
{
    return s->free != 0 ? s->free - 1 : s->n_slots;
}

bool task_store_is_full(const struct task_store *s)
{
    return next_slot(s) >= s->max;
}

task_no task_store_next(struct task_store *s)
{
    task_slot slot = next_slot(s);

    if (slot >= s->max || s->next_order > TASK_ORDER_MAX)
        return 0;
    if (pages_reach(&s->slots, slot) < 0)
        return 0;
    return s->next_order << TASK_SLOT_BITS | slot;
}

static void free_push(struct task_store *s, task_slot slot)
{
    struct task *t = task_at(s, slot);

    memset(t, 0, sizeof(*t));
    t->next = s->free;
    if (s->free != 0)
        task_at(s, s->free - 1)->prev = slot + 1;
    s->free = slot + 1;
    s->n[TASK_FREE]++;
}

static void free_take(struct task_store *s, task_slot slot)
{
    struct task *t = task_at(s, slot);

    assert(s->n[TASK_FREE] > 0 && t->state == TASK_FREE);
    if (t->prev != 0)
        task_at(s, t->prev - 1)->next = t->next;
    else
        s->free = t->next;
    if (t->next != 0)
        task_at(s, t->next - 1)->prev = t->prev;
    s->n[TASK_FREE]--;
}

int task_store_put(struct task_store *s, task_no no)
{
    task_slot slot = task_slot_of(no);
    uint64_t order = no >> TASK_SLOT_BITS;
    struct task *t;

    if (slot < s->n_slots && task_number(s, slot) >> TASK_SLOT_BITS != 0)
        return SQ_EPROTO;
    for (task_slot i = s->n_slots; i <= slot; i++) /* a replay may skip slots whose tasks went */
        if (pages_reach(&s->slots, i) < 0)
            return SQ_ENOMEM;
    for (; s->n_slots <= slot; s->n_slots++)
        free_push(s, s->n_slots);
    free_take(s, slot);
    t = task_at(s, slot);
    memset(t, 0, sizeof(*t));
    t->accepted = (uint32_t)order;
    t->accepted_high = order >> 32 & 0xff;
    s->next_order = u64_max(s->next_order, order + 1);
    s->n[TASK_FREE]++; /* until its first state is set */
    assert(task_number(s, slot) == no && no != 0);
    return 0;
}

void task_store_give(struct task_store *s, task_slot slot)
{
    assert(task_at(s, slot)->state == TASK_FREE && task_number(s, slot) != slot);
    s->n[TASK_FREE]--;
    free_push(s, slot);
}

task_slot task_find(const struct task_store *s, task_no no)
{
    task_slot slot = task_slot_of(no);

    if (slot >= s->n_slots || no >> TASK_SLOT_BITS == 0 || task_number(s, slot) != no ||
        task_at(s, slot)->state == TASK_FREE)
        return SLOT_NONE;
    return slot;
}

static bool is_weighed(enum task_state s)
{
    return s != TASK_FREE && !task_state_is_final(s);
}

static uint32_t weight(const struct task_store *s, uint64_t body)
{
    return s->weigh != NULL ? s->weigh(body) : 0;
}

uint64_t task_bytes(const struct task_store *s, task_slot slot)
{
    return weight(s, task_at(s, slot)->body);
}

void task_set_body(struct task_store *s, task_slot slot, uint64_t body)
{
    struct task *t = task_at(s, slot);

    if (is_weighed((enum task_state)t->state))
        s->bytes = s->bytes - weight(s, t->body) + weight(s, body);
    t->body = body;
}

void task_set_state(struct task_store *s, task_slot slot, enum task_state to)
{
    struct task *t = task_at(s, slot);
    enum task_state from = (enum task_state)t->state;

    assert(task_state_may_follow(from, to));
    assert(s->n[from] > 0);
    s->n[from]--;
    s->n[to]++;
    if (is_weighed(from) && !is_weighed(to))
        s->bytes -= weight(s, t->body);
    else if (!is_weighed(from) && is_weighed(to))
        s->bytes += weight(s, t->body);
    t->state = to;
    if (from == TASK_RUNNING && s->progresses != NULL && s->progresses->by_slot.n > 0)
        progresses_drop(s->progresses, slot);
    if (s->groups != NULL && s->groups->kept > 0)
        groups_moved(s->groups, slot, from, to);
}

/* ---- names: a table, found by hash and by task -------------------------------------- */

static struct name *at(const struct names *t, uint32_t i)
{
    return pages_at(&t->v, i);
}

void names_init(struct names *t, uint32_t max, const uint8_t seed[NAMES_SEED], msec_t now)
{
    assert(max > 0 && max < UINT32_MAX);
    memset(t, 0, sizeof(*t));
    pages_init(&t->v, sizeof(struct name));
    pages_init(&t->links, sizeof(struct wheel_link));
    wheel_init(&t->ends, &t->links, now);
    map_init(&t->by_hash, 0); /* hashes are keyed already */
    map_init(&t->by_task, 0);
    memcpy(t->seed, seed, NAMES_SEED);
    t->max = max;
}

void names_fini(struct names *t)
{
    pages_fini(&t->v);
    pages_fini(&t->links);
    map_fini(&t->by_hash);
    map_fini(&t->by_task);
}

struct name_hash names_hash(const struct names *t, enum name_kind kind, const char *queue,
                            size_t queue_len, const char *text, size_t len)
{
    crypto_generichash_state st;
    uint8_t head[9] = { (uint8_t)kind }, out[16];
    uint64_t n = queue_len;
    struct name_hash h;

    memcpy(head + 1, &n, sizeof(n)); /* lengths in front: no two pairs have the same bytes */
    crypto_generichash_init(&st, t->seed, NAMES_SEED, sizeof(out));
    crypto_generichash_update(&st, head, sizeof(head));
    crypto_generichash_update(&st, (const uint8_t *)queue, queue_len);
    crypto_generichash_update(&st, (const uint8_t *)text, len);
    crypto_generichash_final(&st, out, sizeof(out));
    memcpy(&h.lo, out, 8);
    memcpy(&h.hi, out + 8, 8);
    return h;
}

const struct name *names_find(const struct names *t, struct name_hash h)
{
    uint64_t i = map_get(&t->by_hash, h.lo);

    return i == MAP_NONE || at(t, (uint32_t)i)->hash.hi != h.hi ? NULL : at(t, (uint32_t)i);
}

/* An index whose entry and link can be used. UINT32_MAX: none. */
static uint32_t next_index(struct names *t)
{
    uint32_t i = t->free != 0 ? t->free - 1 : t->n_slots;

    if (t->n >= t->max || pages_reach(&t->v, i) < 0 || pages_reach(&t->links, i) < 0)
        return UINT32_MAX;
    return i;
}

int names_add(struct names *t, enum name_kind kind, struct name_hash h, task_no no,
              uint64_t digest)
{
    uint64_t first = map_get(&t->by_task, no);
    uint32_t i;

    assert(no != 0 && kind < NAME_NKINDS && (h.lo | h.hi) != 0);
    if (map_get(&t->by_hash, h.lo) != MAP_NONE)
        return SQ_ECONFLICT;
    if (t->n >= t->max)
        return SQ_EFULL;
    i = next_index(t);
    if (i == UINT32_MAX || map_set(&t->by_hash, h.lo, i) < 0)
        return SQ_ENOMEM;
    if (map_set(&t->by_task, no, i) < 0) {
        map_del(&t->by_hash, h.lo);
        return SQ_ENOMEM;
    }
    if (t->free != 0)
        t->free = at(t, i)->more;
    else
        t->n_slots++;
    *at(t, i) = (struct name){ h, digest, no, first == MAP_NONE ? 0 : (uint32_t)first + 1,
                               (uint8_t)kind };
    t->n++;
    t->n_begin += kind == NAME_UNIQUE;
    return 0;
}

/* The first name of the task, index + 1. */
static uint32_t first_of(const struct names *t, task_no no)
{
    uint64_t i = map_get(&t->by_task, no);

    return i == MAP_NONE ? 0 : (uint32_t)i + 1;
}

static void drop(struct names *t, uint32_t i)
{
    struct name *n = at(t, i);
    bool there = map_del(&t->by_hash, n->hash.lo);

    assert(there && t->n > 0);
    wheel_clear(&t->ends, i);
    t->n_begin -= n->kind == NAME_UNIQUE;
    *n = (struct name){ .more = t->free };
    t->free = i + 1;
    t->n--;
}

void names_live(struct names *t, task_no no)
{
    for (uint32_t i = first_of(t, no); i != 0; i = at(t, i - 1)->more)
        wheel_clear(&t->ends, i - 1);
}

#define BIT(kind) (1u << (kind))

/* Takes names of a task away: the one with this index; UINT32_MAX: all of these kinds. */
static void remove_some(struct names *t, task_no no, uint32_t one, unsigned kinds)
{
    uint32_t first = 0, next;

    for (uint32_t i = first_of(t, no); i != 0; i = next) {
        next = at(t, i - 1)->more;
        if (one == UINT32_MAX ? (BIT(at(t, i - 1)->kind) & kinds) != 0 : i - 1 == one) {
            drop(t, i - 1);
            continue;
        }
        at(t, i - 1)->more = first;
        first = i;
    }
    if (first == 0)
        map_del(&t->by_task, no);
    else if (map_set(&t->by_task, no, first - 1) < 0)
        assert(!"replacing needs no memory");
}

void names_drop(struct names *t, const struct name *n)
{
    remove_some(t, n->no, (uint32_t)map_get(&t->by_hash, n->hash.lo), 0);
}

void names_begin(struct names *t, task_no no)
{
    if (t->n_begin > 0)
        remove_some(t, no, UINT32_MAX, BIT(NAME_UNIQUE));
}

void names_end(struct names *t, task_no no, msec_t until)
{
    unsigned kinds = 0;

    for (uint32_t i = first_of(t, no); i != 0; i = at(t, i - 1)->more) {
        kinds |= BIT(at(t, i - 1)->kind);
        if (at(t, i - 1)->kind == NAME_KEY)
            wheel_set(&t->ends, i - 1, until);
    }
    kinds &= BIT(NAME_UNIQUE) | BIT(NAME_UNIQUE_RUNNING);
    if (kinds != 0)
        remove_some(t, no, UINT32_MAX, kinds);
}

void names_gone(struct names *t, task_no no)
{
    remove_some(t, no, UINT32_MAX, ~BIT(NAME_KEY));
}

void names_advance(struct names *t, msec_t now)
{
    uint32_t i;

    while ((i = wheel_pop(&t->ends, now)) != WHEEL_NONE)
        remove_some(t, at(t, i)->no, i, 0);
}
