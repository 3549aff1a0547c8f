/* records.c: the lists of the records' fields, the writers and the readers. */
#include "queuemng/tasks/records.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "queuemng/state/out.h"
#include "queuemng/state/records.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/targets.h"

struct stored_part {
    part_no no;
    node_no node; /* 0: nobody has it yet */
    uint64_t epoch;
    bool opened;
    node_no to; /* 0: it does not move */
    uint64_t to_epoch;
};

struct stored_share {
    node_no node;
    uint64_t rate, slots, units, shared, given[UNIT_RATES_MAX];
};

#define BEARS(member)      ROW_FIELD(#member, ROW_UINT, struct stored_share, member)
#define GONE(member)       ROW_FIELD(#member, ROW_UINT, struct mgone, member)
#define TASKS(member)      ROW_FIELD(#member, ROW_UINT, struct mtasks, member)
#define NODE(kind, member) ROW_FIELD(#member, kind, struct mtask_node, member)
#define PART(kind, member) ROW_FIELD(#member, kind, struct stored_part, member)
static const struct json_row tasks_row = ROW_OBJECT(TASKS(next_part), TASKS(next_node));
static const struct json_row gone_row =
    ROW_ARRAY(GONE(no), GONE(node), ROW_OPTIONAL("epoch", ROW_UINT, struct mgone, epoch));
static const struct json_row task_node_row =
    ROW_OBJECT(NODE(ROW_UINT, no), NODE(ROW_TEXT, name), NODE(ROW_TEXT, addr),
               NODE(ROW_TEXT, admin), ROW_OPTIONAL("shared", ROW_FLAG, struct mtask_node, shared),
               ROW_OPTIONAL("draining", ROW_BOOL, struct mtask_node, draining));
static const struct json_row part_row =
    ROW_ARRAY(PART(ROW_UINT, no), PART(ROW_UINT, node), PART(ROW_UINT, epoch),
              PART(ROW_FLAG, opened), ROW_OPTIONAL("to", ROW_UINT, struct stored_part, to),
              ROW_OPTIONAL("to_epoch", ROW_UINT, struct stored_part, to_epoch));

static const struct json_row bears_row = ROW_ARRAY(BEARS(node), BEARS(rate), BEARS(slots),
              ROW_OPTIONAL("units", ROW_UINT, struct stored_share, units),
              ROW_OPTIONAL("shared", ROW_UINT, struct stored_share, shared),
              ROW_OPTIONAL("given_1", ROW_UINT, struct stored_share, given[0]),
              ROW_OPTIONAL("given_2", ROW_UINT, struct stored_share, given[1]),
              ROW_OPTIONAL("given_3", ROW_UINT, struct stored_share, given[2]));

/* ---- written --------------------------------------------------------------------- */

void task_node_put(struct mng *m, const struct mtask_node *n)
{
    char key[96];

    snprintf(key, sizeof(key), "task_node/%s", n->name);
    out_put_json(m, key, json_row_write(&task_node_row, n));
    m->tasks.put = true;
}

static void pool_put(struct mng *m, const struct mpool *p)
{
    json_t *parts = json_array(), *j = defined_json(DEF_POOL, p);

    for (uint32_t i = 0; i < p->n; i++) {
        const struct mpart *x = &p->part[i];
        const struct stored_part v = { x->no, x->node != NULL ? x->node->no : 0, x->epoch,
                                       x->opened, x->to != NULL ? x->to->no : 0, x->to_epoch };

        json_array_append_new(parts, json_row_write(&part_row, &v));
    }
    assert(p->def.match != NULL && json_array_size(parts) == p->n);
    if (json_object_set_new(j, "parts", parts) < 0) {
        json_decref(j);
        j = NULL;
    }
    defined_put(m, DEF_POOL, p, j);
}

static json_t *shares_json(const struct mendpoint *x)
{
    json_t *shares = json_array();

    each_share(x, s) {
        const struct stored_share v = { s->node->no, s->held.rate, s->held.slots, s->held.units, s->held.shared,
                                       { s->given[0], s->given[1], s->given[2] } };

        json_array_append_new(shares, json_row_write(&bears_row, &v));
    }
    return shares;
}

static void endpoint_put(struct mng *m, const struct mendpoint *x)
{
    json_t *j = defined_json(DEF_ENDPOINT, x), *windows = meters_json(x->meter, &x->def.rates);

    if (json_object_set_new(j, "shares", shares_json(x)) < 0 ||
        (x->targets.n > 0 && json_object_set_new(j, "targets", targets_json(x, shares_json)) < 0) ||
        json_object_set_new(j, "tripped", json_boolean(x->tripped)) < 0 ||
        (windows != NULL && json_object_set_new(j, "windows", windows) < 0) ||
        json_object_set_new(j, "resets", json_integer((json_int_t)x->resets)) < 0) {
        json_decref(j);
        j = NULL;
    }
    defined_put(m, DEF_ENDPOINT, x, j);
}

void tasks_put(struct mng *m)
{
    json_t *gone = json_array(), *j;

    if (!m->tasks.put || !m->started) {
        json_decref(gone);
        return;
    }
    each_gone(m, g)
        json_array_append_new(gone, json_row_write(&gone_row, g));
    j = json_row_write(&tasks_row, &m->tasks);
    json_object_set_new(j, "gone", gone);
    out_put_json(m, "tasks", j);
    each_pool(m, p) {
        if (p->put)
            pool_put(m, p);
        p->put = false;
    }
    each_endpoint(m, x) {
        if (x->put)
            endpoint_put(m, x);
        x->put = false;
    }
    m->tasks.put = false;
}

/* ---- read ------------------------------------------------------------------------ */

int tasks_load(struct mng *m, json_t *j)
{
    struct mtasks v = { 0 };
    json_t *x;
    size_t i;

    if (json_row_read(&tasks_row, j, &v) < 0)
        return SQ_EPROTO;
    json_array_foreach(json_object_get(j, "gone"), i, x) {
        struct mgone g = { 0 };

        if (json_row_read(&gone_row, x, &g) < 0 || g.no == 0 || g.node == 0)
            return SQ_EPROTO;
        if (gone_add(m, g.no, g.node, g.epoch) == NULL)
            return SQ_ENOMEM;
    }
    m->tasks.put = false;
    m->tasks.next_part = (part_no)u64_max(m->tasks.next_part, v.next_part);
    m->tasks.next_node = (node_no)u64_max(m->tasks.next_node, v.next_node);
    m->tasks.map_version = 1; /* a pool was there once: routers are told what is left */
    return 0;
}

int task_node_load(struct mng *m, json_t *j)
{
    struct mtask_node v = { 0 }, *n;

    if (json_row_read(&task_node_row, j, &v) < 0 || v.no == 0)
        return SQ_EPROTO;
    n = task_node_at(m, v.no);
    return n == NULL ? SQ_ENOMEM : json_row_read(&task_node_row, j, n);
}

static int part_load(struct mng *m, struct mpool *p, uint32_t share, json_t *j)
{
    struct stored_part v = { 0 };
    struct mtask_node *n = NULL, *to = NULL;
    int rc;

    if (json_row_read(&part_row, j, &v) < 0 || v.no == 0 || part_find(m, v.no) != NULL ||
        (v.to != 0 && (v.node == 0 || v.node == v.to || v.to_epoch <= v.epoch)))
        return SQ_EPROTO;
    if ((v.node != 0 && (n = task_node_at(m, v.node)) == NULL) ||
        (v.to != 0 && (to = task_node_at(m, v.to)) == NULL))
        return SQ_ENOMEM;
    m->tasks.next_part = (part_no)u64_max(m->tasks.next_part, (uint64_t)v.no + 1);
    rc = part_set(m, p, share, v.no, n, v.epoch, v.opened);
    p->part[share].to = to;
    p->part[share].to_epoch = v.to_epoch;
    p->part[share].begun_ms = p->part[share].both_ms = m->now_ms; /* time for its nodes to register */
    return rc;
}

int pool_load(struct mng *m, const char *key, json_t *j, struct err *e)
{
    json_t *parts = json_object_get(j, "parts"), *x;
    size_t n = json_array_size(parts), i;
    struct mpool *p;
    void *made;
    int rc = defined_load(m, DEF_POOL, key, j, &made, e);

    if (rc < 0)
        return rc;
    p = made;
    if (n == 0 || n > PARTS_MAX) {
        pool_free(m, p);
        return err_set(e, SQ_EPROTO, "stored record %s: %zu partitions", key, n);
    }
    if (pool_fill(m, p, (uint32_t)n) == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    json_array_foreach(parts, i, x)
        if (rc == 0)
            rc = part_load(m, p, (uint32_t)i, x);
    return rc == 0 ? 0 : err_set(e, rc, "stored record %s: %s", key, sq_strerror(rc));
}

static int share_load(struct mng *m, struct mendpoint *x, json_t *j)
{
    struct stored_share v = { 0 };
    struct mtask_node *n;
    struct mshare *s;

    if (json_row_read(&bears_row, j, &v) < 0 || v.node == 0)
        return SQ_EPROTO;
    n = task_node_at(m, v.node);
    s = n != NULL ? share_at(x, n) : NULL;
    if (s == NULL)
        return SQ_ENOMEM;
    s->held = s->claim.aim = s->claim.wants = (struct bears){ v.rate, v.slots, v.units, v.shared };
    s->kept = v.units;
    memcpy(s->given, v.given, sizeof(s->given));
    s->owner = true; /* until it is looked at */
    x->claim.aim.rate = u64_min(x->claim.aim.rate + v.rate, ENDPOINT_ANY);
    x->claim.aim.slots = u64_min(x->claim.aim.slots + v.slots, ENDPOINT_ANY);
    x->claim.aim.shared = u64_min(x->claim.aim.shared + v.shared, ENDPOINT_ANY);
    x->claim.wants = x->claim.aim;
    return 0;
}

static int shares_load(struct mng *m, struct mendpoint *x, json_t *j)
{
    json_t *s;
    size_t i;
    int rc = 0;

    json_array_foreach(json_object_get(j, "shares"), i, s)
        if (rc == 0)
            rc = share_load(m, x, s);
    return rc;
}

static int targets_load(struct mng *m, struct mendpoint *x, json_t *list)
{
    json_t *j;
    size_t i;
    int rc = 0;

    json_array_foreach(list, i, j) {
        struct mendpoint *t = rc == 0 ? target_load(x, j) : NULL;

        if (rc == 0)
            rc = t != NULL ? shares_load(m, t, j) : SQ_EPROTO;
    }
    return rc;
}

int endpoint_load(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mendpoint *p;
    void *made;
    int rc = defined_load(m, DEF_ENDPOINT, key, j, &made, e);

    if (rc < 0)
        return rc;
    p = made;
    list_init(&p->shares);
    list_init(&p->targets);
    list_init(&p->names);
    p->tripped = json_is_true(json_object_get(j, "tripped"));
    p->resets = (uint64_t)json_integer_value(json_object_get(j, "resets"));
    meters_load(p->meter, json_object_get(j, "windows"));
    rc = shares_load(m, p, j);
    if (rc == 0)
        rc = targets_load(m, p, json_object_get(j, "targets"));
    if (rc == 0)
        return targets_follow(m, p, "", e);
    return err_set(e, rc, "stored record %s: %s", key, sq_strerror(rc));
}
