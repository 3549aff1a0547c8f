/* load.c: reads the stored records (state/records.h), and begins a term. */
#include "queuemng/core/load.h"

#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/versions.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/queue_life.h"
#include "queuemng/core/step.h"
#include "queuemng/nodes/directory.h"
#include "queuemng/release/opening.h"
#include "queuemng/state/alias.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "load"

static int bad(const char *key, struct err *e)
{
    return err_set(e, SQ_EPROTO, "stored record %s: unexpected content", key);
}

static int load_meta(struct mng *m, const char *key, json_t *j, struct err *e)
{
    json_int_t epoch, seg, queue, node, store = 0, format = 1;

    (void)json_unpack(j, "{s:I}", "format", &format); /* the first version had none */
    if (format > STORE_FORMAT)
        return err_set(e, SQ_EPROTO, "the store was written by a newer segq (format %lld, "
                       "this one reads up to %d)", (long long)format, STORE_FORMAT);
    if (json_unpack(j, "{s:I,s:I,s:I,s:I,s?I}", "epoch", &epoch, "next_seg", &seg,
                    "next_queue", &queue, "next_node", &node, "store", &store) < 0)
        return bad(key, e);
    m->cluster_id = (uint64_t)store;
    m->epoch = (uint64_t)epoch;
    m->next_seg = u64_max(m->next_seg, (uint64_t)seg);
    m->next_queue = (queue_id)u64_max(m->next_queue, (uint64_t)queue);
    m->next_node = (node_no)u64_max(m->next_node, (uint64_t)node);
    return 0;
}

/* At most cap bytes; how many. */
static size_t from_hex(uint8_t *out, size_t cap, const char *hex)
{
    size_t n = strlen(hex) / 2;

    n = n < cap ? n : cap;
    for (size_t i = 0; i < n; i++) {
        unsigned v = 0;

        (void)sscanf(hex + 2 * i, "%2x", &v);
        out[i] = (uint8_t)v;
    }
    return n;
}

static int load_node(struct mng *m, const char *key, json_t *j, struct err *e)
{
    const char *name, *addr = "", *admin = "", *hex = "", *others = "";
    json_int_t no;
    int draining;
    struct mnode *n;

    if (json_unpack(j, "{s:I,s:s,s:b,s?s,s?s,s?s,s?s}", "no", &no, "name", &name,
                    "draining", &draining, "addr", &addr, "admin", &admin, "pass_key",
                    &hex, "other_keys", &others) < 0 ||
        no <= 0 || no > MNG_NODE_NO_MAX)
        return bad(key, e);
    n = node_at(m, (node_no)no);
    if (n == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    strncpy(n->name, name, NAME_MAX_LEN);
    strncpy(n->addr, addr, sizeof(n->addr) - 1);
    strncpy(n->admin, admin, sizeof(n->admin) - 1);
    (void)from_hex(n->pass_key, sizeof(n->pass_key), hex);
    n->other_keys.n = (uint32_t)(from_hex(n->other_keys.key[0], sizeof(n->other_keys.key),
                                          others) / sizeof(n->pass_key));
    n->draining = draining;
    return 0;
}

static struct mqueue *queue_at(struct mng *m, queue_id id)
{
    struct mqueue *q = queue_by_id(m, id);

    return q != NULL ? q : queue_new(m, id);
}

/* A stored definition, at start. */
struct queue_undo { /* until_ms 0: it is not deleted */
    int64_t until_ms;
    int state;
};

static int queue_load(struct mng *m, queue_id id, uint64_t version, const struct queue_def *d,
                      const struct queue_undo *undo, struct err *e)
{
    struct mqueue *q = queue_by_id(m, id);

    if (q == NULL)
        q = queue_new(m, id);
    if (q == NULL || cfg_copy(&q->def, sizeof(q->def), queue_def_keys, d) < 0 ||
        (undo->until_ms == 0 && queue_name(m, q) < 0))
        return err_set(e, SQ_ENOMEM, "stored queue %s: out of memory", d->name);
    q->deleted_until_ms = undo->until_ms;
    q->deleted_state = undo->state;
    m->n_deleted += undo->until_ms != 0;
    q->version = version;
    m->next_queue = (queue_id)u64_max(m->next_queue, (uint64_t)id + 1);
    return 0;
}

static int load_queue(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct cfg_node *doc = NULL;
    struct queue_def def = { 0 };
    struct queue_undo undo = { 0 };
    json_int_t id, version, until = 0;
    json_t *d;
    char *text;
    int rc;

    if (json_unpack(j, "{s:I,s:I,s:o,s?[I,i]}", "id", &id, "version", &version, "def", &d,
                    "deleted", &until, &undo.state) < 0 ||
        undo.state < DEF_OPEN || undo.state > DEF_REJECT)
        return bad(key, e);
    undo.until_ms = until;
    text = json_dumps(d, JSON_COMPACT);
    if (text == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    rc = cfg_parse_json(&doc, text, strlen(text), e);
    free(text);
    if (rc == 0)
        rc = cfg_bind_stored(&def, sizeof(def), queue_def_keys, doc, key, e);
    cfg_node_free(doc);
    if (rc == 0)
        rc = queue_load(m, (queue_id)id, (uint64_t)version, &def, &undo, e);
    cfg_clear(&def, queue_def_keys);
    return rc;
}

static void load_prequeue(struct mseg *s, json_t *j)
{
    const char *hex = json_string_value(json_array_get(j, 8));

    s->pre.early = json_integer_value(json_array_get(j, 6)) != 0;
    s->pre.n = (uint32_t)json_integer_value(json_array_get(j, 7));
    if (hex == NULL || from_hex(s->pre.seed, sizeof(s->pre.seed), hex) != DRAW_SEED)
        s->pre.n = 0;
}

static int load_seg(struct mng *m, struct mlane *l, json_t *j)
{
    json_int_t id, no, capacity;
    int state, kind;
    struct mnode *n;
    struct mseg *s;

    if (json_unpack(j, "[I,I,i,I,i]", &id, &no, &state, &capacity, &kind) < 0 || no <= 0 ||
        seg_find(m, (seg_id)id) != NULL)
        return SQ_EPROTO;
    n = node_at(m, (node_no)no);
    s = n == NULL ? NULL
                  : seg_new(m, l, n, (seg_id)id, (uint32_t)capacity, (uint8_t)kind, NULL);
    if (s == NULL)
        return SQ_ENOMEM;
    s->state = (uint8_t)(state == SEG_LOST ? SEG_SEALED : state); /* of an older version */
    s->mark_end = (uint32_t)json_integer_value(json_array_get(j, 5));
    load_prequeue(s, j);
    seg_set_phase(s, SEG_STORED); /* routers may have heard of it */
    s->lost_ms = 0;
    seg_used(s);
    m->next_seg = u64_max(m->next_seg, (uint64_t)id + 1);
    return 0;
}

static int load_alias(struct mlane *l, json_t *j)
{
    json_int_t from, to, capacity = MNG_CAPACITY_UNKNOWN, mark = 0;

    if (json_unpack(j, "[I,I]", &from, &to) < 0)
        return SQ_EPROTO;
    if (json_array_size(j) >= 4 &&
        json_unpack(j, "[I,I,I,I]", &from, &to, &capacity, &mark) < 0)
        return SQ_EPROTO;
    return from == to || alias_of(l, (seg_id)from) != 0
               ? SQ_EPROTO
                      : alias_add(l, (struct malias){ .from = (seg_id)from,
                                                      .to = (seg_id)to,
                                                      .capacity = (uint32_t)capacity,
                                                      .mark_end = (uint32_t)mark });
}

static bool leads_to(const struct mlane *l, seg_id to)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == to)
            return true;
    return false;
}

static int load_lane(struct mng *m, struct mlane *l, json_t *j)
{
    json_t *v;
    size_t i;
    int rc;

    l->stored_told_ms = (uint64_t)json_integer_value(json_object_get(j, "told"));
    json_array_foreach(json_object_get(j, "segs"), i, v) {
        rc = load_seg(m, l, v);
        if (rc < 0)
            return rc;
    }
    json_array_foreach(json_object_get(j, "aliases"), i, v) {
        rc = load_alias(l, v);
        if (rc < 0)
            return rc;
    }
    for (uint32_t k = 0; k < l->n_alias; k++) /* a commit that was not confirmed then */
        if (leads_to(l, l->alias[k].from)) {
            alias_fold(l, l->alias[k].from, l->alias[k].to);
            k = UINT32_MAX; /* their order has changed */
        }
    return 0;
}

/* In an older one: none. */
static void load_unreported(json_t *j, const char *key, struct munreported *u)
{
    json_int_t n = 0, until_ms = 0;

    (void)json_unpack(j, "{s:[I,I]}", key, &n, &until_ms);
    u->n = (uint64_t)n;
    u->until_ms = until_ms;
}

static int load_chain(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mqueue *q = queue_at(m, (queue_id)strtoul(key + strlen("chain/"), NULL, 10));
    json_t *lane;
    size_t i;

    if (q == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    load_unreported(j, "flushed", &q->flushed);
    load_unreported(j, "lost", &q->lost);
    json_array_foreach(json_object_get(j, "lanes"), i, lane) {
        int rc = i < LANES_MAX ? load_lane(m, &q->lane[i], lane) : SQ_EPROTO;

        if (rc < 0)
            return err_set(e, rc, "stored record %s: %s", key, sq_strerror(rc));
    }
    return 0;
}

static int load_mark(json_t *j, struct mark_row *r)
{
    json_int_t seg, from, end, at;
    int again;

    if (json_unpack(j, "[I,I,I,I,i]", &seg, &from, &end, &at, &again) < 0 || from < 0 ||
        end <= from || end > UINT32_MAX)
        return SQ_EPROTO;
    *r = (struct mark_row){ (seg_id)seg, (uint32_t)from, (uint32_t)end, again != 0, at };
    return 0;
}

static int load_marks(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mark_row v[MNG_MARK_ROWS];
    unsigned long long no;
    unsigned id, lane, n = 0;
    struct mqueue *q;
    size_t i;
    json_t *x;
    int rc = 0;

    if (sscanf(key, "mark/%u/%u/%llu", &id, &lane, &no) != 3 || lane >= LANES_MAX ||
        json_array_size(j) > MNG_MARK_ROWS)
        return bad(key, e);
    q = queue_at(m, (queue_id)id);
    json_array_foreach(j, i, x) {
        if (load_mark(x, &v[n++]) < 0)
            return bad(key, e);
    }
    if (q != NULL)
        rc = marks_load(&q->lane[lane], no, v, n);
    return q == NULL || rc < 0 ? err_set(e, SQ_ENOMEM, "stored record %s: no memory", key) : 0;
}

static int load_directory(struct mng *m, const char *key, json_t *j, struct err *e)
{
    int rc = directory_load(m, j);

    return rc == SQ_ENOMEM ? err_set(e, rc, "stored record %s: out of memory", key)
           : rc < 0        ? bad(key, e)
                           : 0;
}

static bool sched_load(struct mqueue *q, const struct json_t *record)
{
    json_t *j = (json_t *)(uintptr_t)record; /* only read */
    struct schedule *s = &q->sched;
    json_int_t early, opened, closed;
    const char *hex;
    size_t n, i;
    json_t *draws, *v;
    int draw;

    if (json_unpack(j, "{s:I,s:I,s:I,s:i,s:s,s:o}", "early", &early, "opened", &opened,
                    "closed", &closed, "draw", &draw, "seed", &hex, "draws", &draws) < 0 ||
        draw < DRAW_NONE || draw > DRAW_TOLD ||
        sodium_hex2bin(s->seed, sizeof(s->seed), hex, strlen(hex), NULL, &n, NULL) < 0 ||
        n != sizeof(s->seed))
        return false;
    s->early_for = early;
    s->opened_for = opened;
    s->closed_for = closed;
    s->draw = (uint8_t)draw;
    s->n_draws = 0;
    json_array_foreach(draws, i, v)
        schedule_add_draw(s, (uint64_t)json_integer_value(json_array_get(v, 0)),
                       (uint32_t)json_integer_value(json_array_get(v, 1)));
    return true;
}

static int load_sched(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mqueue *q = queue_at(m, (queue_id)strtoul(key + strlen("sched/"), NULL, 10));

    if (q == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    return sched_load(q, j) ? 0 : bad(key, e);
}

typedef int (*load_fn)(struct mng *m, const char *key, json_t *j, struct err *e);

/* NULL: of a newer version, or the shell's own. */
static load_fn loader_of(const char *key)
{
    static const struct {
        const char *prefix;
        load_fn fn;
    } v[] = {
        { "node/", load_node },   { "queue/", load_queue },
        { "chain/", load_chain }, { "mark/", load_marks },
        { "sched/", load_sched },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (strncmp(key, v[i].prefix, strlen(v[i].prefix)) == 0)
            return v[i].fn;
    if (strcmp(key, "directory") == 0)
        return load_directory;
    return strcmp(key, "meta") == 0 ? load_meta : NULL;
}

int mng_load(struct mng *m, const char *key, const char *val, struct err *e)
{
    load_fn fn = loader_of(key);
    json_t *j;
    int rc;

    if (fn == NULL)
        return 0;
    j = json_loads(val, 0, NULL);
    if (j == NULL)
        return err_set(e, SQ_EPROTO, "stored record %s: not JSON", key);
    rc = fn(m, key, j, e);
    json_decref(j);
    return rc;
}

void mng_set_epoch(struct mng *m, uint64_t epoch)
{
    m->given_epoch = epoch;
}

/* What people were told before we came. */
static void told_load(const struct mng *m, struct mlane *l)
{
    l->most_ms = (uint32_t)u64_min(u64_max(l->stored_told_ms, poll_max_longest(l->q)),
                                   UINT32_MAX / 2);
    l->told_ms = m->now_ms + l->most_ms;
}

/* A new term: a higher epoch, and map versions above all earlier ones. */
void mng_start(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out)
{
    assert(!m->started);
    mng_begin(m, now_ms, out);
    m->wall_raw_ms = wall_ms;
    m->wall_ms = wall_steady(&m->stamp_guard, now_ms, wall_ms);
    m->epoch = m->given_epoch != 0 ? m->given_epoch : m->epoch + 1;
    m->started = true;
    m->started_ms = m->now_ms;
    while (m->cluster_id == 0) /* a positive number in JSON */
        m->cluster_id = rng_u64(&m->rng) >> 2;
    m->put_meta = true;
    m->seg_reserved = m->next_seg + MNG_SEG_IDS;
    m->map_version = m->epoch << 32 | 1;
    m->tomb_floor = m->map_version;
    m->second_ms = now_ms + 1000;
    m->sched_ms = wall_believed(&m->wall_guard, m->now_ms, wall_ms);
    each_node(m, n)
        n->down_ms = now_ms;
    each_queue(m, q) {
        if (q->def.name == NULL) { /* its definition was deleted, its chain record not yet */
            queue_free(m, q);
            continue;
        }
        q->map_version = m->map_version;
        sched_set(m, q);
        queue_fit_lanes(m, q);
        for (unsigned i = 0; i < LANES_MAX; i++) {
            marks_load_end(m, &q->lane[i]);
            told_load(m, &q->lane[i]);
        }
    }
    log_info("event=term epoch=%llu queues=%zu nodes=%u", (unsigned long long)m->epoch,
             m->queues.n, m->n_nodes);
    mng_end(m);
}
