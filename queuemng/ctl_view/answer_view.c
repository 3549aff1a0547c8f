/* answer_view.c: single answers as text. Pure. */
#include "queuemng/ctl_view/answer_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/table.h"
#include "queuemng/ctl_view/text.h"

static void scalar(struct buf *b, const json_t *v)
{
    if (json_is_string(v))
        ctl_clean(b, json_string_value(v));
    else if (json_is_integer(v))
        buf_i64(b, json_integer_value(v));
    else if (json_is_real(v))
        buf_printf(b, "%.10g", json_real_value(v));
    else
        buf_str(b, json_is_true(v) ? "true" : json_is_false(v) ? "false" : "-");
}

/* By slots, by a fixed rate, or by limits; "20 inside, 5/s" is by both. */
static void rate_cell(struct table *t, const json_t *def)
{
    const char *mode = ctl_str(def, "mode");
    bool slots = strcmp(mode, "slots") == 0, both = strcmp(mode, "both") == 0;
    const json_t *limits = json_object_get(def, "limits"), *l;
    struct buf b;
    size_t i;

    buf_init(&b);
    if (slots || both)
        buf_printf(&b, "%" PRIu64 " inside%s", ctl_u64(def, "max_active"), both ? ", " : "");
    if (!slots && ctl_f64(def, "release_per_s") > 0)
        buf_printf(&b, "%g/s", ctl_f64(def, "release_per_s"));
    else if (!slots && json_array_size(limits) == 0)
        buf_str(&b, "by nothing: fallback");
    else if (!slots)
        json_array_foreach(limits, i, l)
            buf_printf(&b, "%s%s", i > 0 ? "," : "by ", ctl_str(l, "metric"));
    buf_byte(&b, 0);
    table_cell(t, "%s", b.failed ? "?" : (const char *)b.data);
    buf_fini(&b);
}

static void lanes_cell(struct table *t, const json_t *def)
{
    size_t n = json_array_size(json_object_get(def, "lanes"));

    table_u64(t, n > 0 ? n : 1); /* none is one named default */
}

void view_queues(struct buf *b, const json_t *queues)
{
    const json_t *list = json_object_get(queues, "queues"), *q;
    struct table t;
    size_t i;

    table_init(&t, "QUEUE STATE >LANES >CAPACITY RATE");
    json_array_foreach(list, i, q) {
        table_cell(&t, "%s", ctl_str(q, "name"));
        table_cell(&t, "%s", ctl_str(q, "state"));
        lanes_cell(&t, q);
        table_cell(&t, "%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(q, "segment_capacity")));
        rate_cell(&t, q);
    }
    if (table_rows(&t) > 0)
        table_print(&t, b, 0);
    else
        buf_str(b, "no queues\n");
    table_fini(&t);
}

/* ---- task queues ---- */

/* "10/s, 4 at once"; "-": any. */
static void limit_cell(struct table *t, const json_t *limit)
{
    double rate = ctl_f64(limit, "rate_per_s");
    uint64_t at_once = ctl_u64(limit, "max_concurrent");
    char left[32] = "", right[32] = "";

    if (rate > 0)
        snprintf(left, sizeof(left), "%g/s", rate);
    if (at_once > 0)
        snprintf(right, sizeof(right), "%" PRIu64 " at once", at_once);
    table_cell(t, "%s%s%s", rate <= 0 && at_once == 0 ? "-" : left,
               rate > 0 && at_once > 0 ? ", " : "", right);
}

void view_pools(struct buf *b, const json_t *pools)
{
    const json_t *p;
    struct table t;
    size_t i;

    table_init(&t, "POOL STATE >PARTITIONS ORDER QUEUE KEY SUBKEY");
    json_array_foreach(json_object_get(pools, "pools"), i, p) {
        table_cell(&t, "%s", ctl_str(p, "match"));
        table_cell(&t, "%s", json_is_true(json_object_get(p, "paused")) ? "paused" : "open");
        table_u64(&t, ctl_u64(p, "partitions"));
        table_cell(&t, "%s", ctl_str(p, "order"));
        limit_cell(&t, json_object_get(p, "queue"));
        limit_cell(&t, json_object_get(p, "key"));
        limit_cell(&t, json_object_get(p, "subkey"));
    }
    if (table_rows(&t) > 0)
        table_print(&t, b, 0);
    else
        buf_str(b, "no pools\n");
    table_fini(&t);
}

/* ---- tickets, limits, refusals ---- */

void view_ticket(struct buf *b, const json_t *ticket)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)ticket, key, v) {
        ctl_clean(b, key);
        for (size_t n = strlen(key); n < 16; n++)
            buf_byte(b, ' ');
        scalar(b, v);
        buf_byte(b, '\n');
    }
}

/* "below 50: 2 000/s, below 70: 500/s, from 70 on nobody" */
static void put_tiers(struct buf *b, const json_t *tiers)
{
    double last = 0;
    const json_t *t;
    size_t i;

    json_array_foreach(tiers, i, t) {
        last = ctl_f64(t, "below");
        buf_printf(b, "below %.10g: ", last);
        ctl_rate(b, ctl_f64(t, "rate_per_s"));
        buf_str(b, ", ");
    }
    if (json_array_size(tiers) > 0)
        buf_printf(b, "from %.10g on nobody", last);
}

/* The one that was changed first, then those that are easily forgotten. */
static void put_limits(struct buf *b, const json_t *def, const char *metric, bool changed)
{
    const json_t *l;
    size_t i;

    json_array_foreach(json_object_get(def, "limits"), i, l) {
        if ((strcmp(ctl_str(l, "metric"), metric) == 0) != changed)
            continue;
        ctl_clean(b, ctl_str(l, "metric"));
        buf_str(b, changed ? ": " : " still limits it, too: ");
        put_tiers(b, json_object_get(l, "tiers"));
        buf_byte(b, '\n');
    }
}

void view_limits(struct buf *b, const json_t *def, const char *metric)
{
    double fixed = ctl_f64(def, "release_per_s");

    put_limits(b, def, metric, true);
    put_limits(b, def, metric, false);
    if (json_array_size(json_object_get(def, "limits")) == 0) {
        buf_str(b, "no metric limits it now: fallback_per_s does, ");
        ctl_rate(b, ctl_f64(def, "fallback_per_s"));
        buf_byte(b, '\n');
    }
    if (fixed <= 0)
        return;
    buf_str(b, "not in force while the rate is fixed at ");
    ctl_rate(b, fixed);
    buf_str(b, ": ");
    ctl_command(b, "rate", ctl_str(def, "name"), " limits\n");
}

void view_limits_were(struct buf *b, const json_t *def, const char *metric)
{
    size_t before;

    buf_str(b, "was: ");
    before = b->len;
    put_limits(b, def, metric, true);
    if (b->len > before)
        return;
    ctl_clean(b, metric);
    buf_str(b, " did not limit it\n");
}

void view_problem(struct buf *b, int status, const json_t *p)
{
    const char *detail = ctl_str(p, "detail"), *reason = ctl_str(p, "reason");

    if (strcmp(detail, "-") == 0) {
        buf_printf(b, "status %d and no reason: is this the address of segq, or of a proxy before it? "
                      "see --admin, --router", status);
        return;
    }
    ctl_clean(b, detail);
    if (strcmp(reason, "-") == 0)
        return;
    buf_str(b, ": ");
    ctl_clean(b, reason);
}

void view_pretty(struct buf *b, const json_t *doc)
{
    char *s = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    if (s != NULL)
        ctl_clean_json(b, s, strlen(s)); /* jansson escapes C0 alone */
    free(s);
}
