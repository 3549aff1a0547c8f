/* poll_marks.c: see poll_marks.h. */
#include "router/replica/poll_marks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/ticket/pace.h"
#include "common/wire/replica_bytes.h"

#define GROUPS_MAX    MSG_STATUS_MAX
#define NAMES_MAX     (4 * GROUPS_MAX) /* names that are remembered, over frames */
#define FRAME_STEP    16384u
#define SPARES_MAX    4
#define NEAR_SHIFT    12 /* numbers that differ below this bit stay as they came */
#define NEAR_BUCKETS  2048u

static_assert(SEEN_MARKS_MAX * MARK_BYTES_MAX <= REPLICA_BYTES_MAX, "one row may have all marks");
static_assert(GROUPS_MAX >= NEAR_BUCKETS, "counters of one pass");

void seen_init(struct seen *s)
{
    memset(s, 0, sizeof(*s));
    map_init(&s->by_group, 0);
    list_init(&s->frames);
    list_init(&s->spares);
}

static void frame_give(struct seen *s, struct list_node *it)
{
    list_remove(&s->frames, it);
    if (s->spares.n < SPARES_MAX)
        list_push_back(&s->spares, it);
    else
        free(container_of(it, struct seen_frame, in_list));
}

/* NULL: no memory. */
static struct seen_frame *frame_take(struct seen *s, size_t size)
{
    struct seen_frame *f = NULL;

    list_each_of (&s->spares, struct seen_frame, in_list, spare) {
        list_remove(&s->spares, &spare->in_list);
        if (spare->size >= size)
            return spare;
        free(spare);
    }
    size = (size + FRAME_STEP - 1) / FRAME_STEP * FRAME_STEP;
    if ((f = malloc(size)) != NULL)
        f->size = size;
    return f;
}

void seen_fini(struct seen *s)
{
    while (list_first(&s->frames) != NULL)
        frame_give(s, list_first(&s->frames));
    list_each_of (&s->spares, struct seen_frame, in_list, spare)
        free(spare);
    map_fini(&s->by_group);
    free(s->mark);
    free(s->group);
}

/* ---- marks at hand ---------------------------------------------------------------------- */

static bool has_memory(struct seen *s)
{
    if (s->mark == NULL)
        s->mark = malloc(2 * SEEN_MARKS_MAX * sizeof(*s->mark)); /* the half is to sort in */
    if (s->group == NULL)
        s->group = malloc(GROUPS_MAX * sizeof(*s->group));
    return s->mark != NULL && s->group != NULL;
}

static bool is_group(const struct seen *s, uint64_t i, seg_id name, enum client_class client)
{
    return i < s->n_groups && s->group[i].name == name && s->group[i].client == client;
}

/* False: there are too many, or no memory. */
static bool find_group(struct seen *s, seg_id name, enum client_class client)
{
    uint64_t key = name * CLIENT_NCLASSES + client, at = map_get(&s->by_group, key);

    if (!is_group(s, at, name, client)) {
        at = s->n_groups;
        if (at == GROUPS_MAX || map_set(&s->by_group, key, at) < 0)
            return false;
        s->group[s->n_groups++] = (struct seen_group) { name, (uint8_t)client };
    }
    s->last = (uint32_t)at;
    assert(is_group(s, s->last, name, client));
    return true;
}

bool seen_add(struct seen *s, seg_id name, enum client_class client, uint32_t number,
              uint32_t told_ms)
{
    assert(client < CLIENT_NCLASSES);
    if (SQ_UNLIKELY(!has_memory(s)))
        return false;
    if (SQ_UNLIKELY(s->n_marks == SEEN_MARKS_MAX || s->n_groups == GROUPS_MAX) && !seen_seal(s))
        return false;
    if (!is_group(s, s->last, name, client) && !find_group(s, name, client))
        return false;
    s->mark[s->n_marks++] = (struct seen_mark) { .number = number,
                                                 .group = (uint16_t)s->last,
                                                 .told = pace_class(told_ms) };
    return true;
}

/* ---- packing ---------------------------------------------------------------------------- */

static uint32_t near(const struct seen_mark *m)
{
    return m->number >> NEAR_SHIFT & (NEAR_BUCKETS - 1);
}

static uint32_t group(const struct seen_mark *m)
{
    return m->group;
}

/* Stable, by counting: key() is below GROUPS_MAX. */
static void sort(struct seen_mark *to, const struct seen_mark *from, uint32_t n,
                 uint32_t (*key)(const struct seen_mark *m))
{
    uint32_t at[GROUPS_MAX] = { 0 }, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        at[key(&from[i])]++;
    for (uint32_t k = 0; k < GROUPS_MAX; k++) {
        uint32_t count = at[k];

        at[k] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        to[at[key(&from[i])]++] = from[i];
}

/* Marks are sorted by group; each group has some. */
static void pack(const struct seen *s, struct seen_frame *f)
{
    uint8_t *p = (uint8_t *)&f->row[s->n_groups];
    uint32_t i = 0;

    for (uint32_t g = 0; g < s->n_groups; g++) {
        struct seen_row *row = &f->row[g];
        uint32_t last = 0;

        *row = (struct seen_row) { .name = s->group[g].name, .client = s->group[g].client,
                                   .marks = p };
        for (; i < s->n_marks && s->mark[i].group == g; i++)
            p = mark_put(p, &last, s->mark[i].number, s->mark[i].told);
        row->n_marks = (uint32_t)(p - row->marks);
        assert(row->n_marks > 0 && row->n_marks <= REPLICA_BYTES_MAX);
    }
    assert(i == s->n_marks);
}

bool seen_seal(struct seen *s)
{
    struct seen_frame *f;
    size_t size;

    if (s->n_marks == 0)
        return true;
    if (s->frames.n == SEEN_FRAMES_MAX)
        return false;
    size = sizeof(*f) + s->n_groups * sizeof(f->row[0]) + s->n_marks * (size_t)MARK_BYTES_MAX;
    if ((f = frame_take(s, size)) == NULL)
        return false;
    sort(s->mark + SEEN_MARKS_MAX, s->mark, s->n_marks, near);
    sort(s->mark, s->mark + SEEN_MARKS_MAX, s->n_marks, group);
    f->seq = ++s->seq;
    f->n = s->n_groups;
    f->n_marks = s->n_marks;
    pack(s, f);
    list_push_back(&s->frames, &f->in_list);
    s->unsent = s->unsent != NULL ? s->unsent : &f->in_list;
    s->n_marks = s->n_groups = s->last = 0;
    if (s->by_group.n > NAMES_MAX) {
        map_fini(&s->by_group);
        map_init(&s->by_group, 0);
    }
    return true;
}

/* ---- frames ----------------------------------------------------------------------------- */

const struct seen_frame *seen_next(struct seen *s)
{
    struct list_node *it = s->unsent;

    if (it == NULL)
        return NULL;
    s->unsent = list_next(&s->frames, it);
    return container_of(it, struct seen_frame, in_list);
}

uint64_t seen_empty(struct seen *s)
{
    assert(s->unsent == NULL); /* numbers rise on a link */
    return ++s->seq;
}

void seen_again(struct seen *s)
{
    s->unsent = list_first(&s->frames);
}

int seen_acked(struct seen *s, uint64_t seq)
{
    struct list_node *it;

    if (seq > s->seq)
        return SQ_EPROTO;
    s->acked = u64_max(s->acked, seq);
    while ((it = list_first(&s->frames)) != NULL &&
           container_of(it, struct seen_frame, in_list)->seq <= seq) {
        if (it == s->unsent)
            return SQ_EPROTO; /* not sent on this link: the node cannot know */
        frame_give(s, it);
    }
    return 0;
}

uint64_t seen_waiting(const struct seen *s)
{
    uint64_t n = s->n_marks;

    list_each_of (&s->frames, struct seen_frame, in_list, f)
        n += f->n_marks;
    return n;
}
