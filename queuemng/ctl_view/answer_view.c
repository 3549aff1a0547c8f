/* answer_view.c: single answers as text. Pure. */
#include "queuemng/ctl_view/answer_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/columns.h"

/* ---- definitions, in lists ---- */

/* By slots, by a fixed rate, or by limits; "20 inside, 5/s" is by both. */
static void put_rate_by(struct buf *b, const json_t *def, const char *path)
{
    bool slots = ctl_equals(def, "mode", "slots"), both = ctl_equals(def, "mode", "both");
    const json_t *limits = json_object_get(def, "limits"), *l;
    size_t i;

    if (slots || both)
        ctl_say(b, def, both ? "{max_active=} inside, " : "{max_active=} inside");
    if (slots)
        return;
    if (ctl_f64(def, path) > 0)
        buf_printf(b, "%g/s", ctl_f64(def, path));
    else if (json_array_size(limits) == 0)
        buf_str(b, "by nothing: fallback");
    else
        json_array_foreach(limits, i, l)
            ctl_say(b, l, i > 0 ? ",{metric}" : "by {metric}");
}

static void put_lanes(struct buf *b, const json_t *def, const char *path)
{
    size_t n = json_array_size(json_object_get(def, path));

    ctl_count(b, n > 0 ? n : 1); /* none is one named default */
}

static void put_integer(struct buf *b, const json_t *def, const char *path)
{
    buf_i64(b, json_integer_value(json_object_get(def, path)));
}

void view_queues(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "QUEUE", "name", .put = put_text }, { "STATE", "state", .put = put_text },
        { ">LANES", "lanes", .put = put_lanes },
        { ">CAPACITY", "segment_capacity", .put = put_integer },
        { "RATE", "release_per_s", .put = put_rate_by },
    };

    TABLE_LIST(b, json_object_get(doc, "queues"), cols, "no queues\n");
}

/* "10/s, 4 at once"; "-": any. */
static void put_limit(struct buf *b, const json_t *def, const char *path)
{
    const json_t *limit = json_object_get(def, path);
    double rate = ctl_f64(limit, "rate_per_s");
    bool at_once = ctl_u64(limit, "max_concurrent") > 0;

    if (rate > 0)
        buf_printf(b, "%g/s", rate);
    if (at_once)
        ctl_say(b, limit, rate > 0 ? ", {max_concurrent=} at once" : "{max_concurrent=} at once");
    if (rate <= 0 && !at_once)
        buf_byte(b, '-');
}

void view_pools(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "POOL", "match", .put = put_text }, { "STATE", "paused", EITHER("paused", "open") },
        { ">PARTITIONS", "partitions", .put = put_count }, { "ORDER", "order", .put = put_text },
        { "QUEUE", "queue", .put = put_limit }, { "KEY", "key", .put = put_limit },
        { "SUBKEY", "subkey", .put = put_limit },
    };

    TABLE_LIST(b, json_object_get(doc, "pools"), cols, "no pools\n");
}

/* "12.5 of 300/s": of a budget, or of a member's part of one. */
static void put_used(struct buf *b, const json_t *x, const char *path)
{
    const json_t *most = json_object_get(x, "whole");

    most = json_object_get(most != NULL ? most : json_object_get(x, "part"), path);
    if (json_is_number(most))
        buf_printf(b, "%g of %g%s", ctl_f64(json_object_get(x, "used"), path),
                   json_number_value(most), strcmp(path, "rate_per_s") == 0 ? "/s" : "");
    else
        buf_byte(b, '-');
}

/* A row for each budget, and below it one for each member. */
static void put_member(struct buf *b, const json_t *x, const char *path)
{
    if (json_object_get(x, path) != NULL)
        ctl_say(b, x, "{kind} {member}");
    else
        buf_byte(b, '-');
}

static void put_weight(struct buf *b, const json_t *x, const char *path)
{
    if (json_object_get(x, "member") != NULL)
        put_count(b, x, path);
    else
        buf_byte(b, '-');
}

static void member_row(struct table *t, const json_t *budget, json_t *member)
{
    json_t *row = json_copy(member);

    (void)json_object_set(row, "member", json_object_get(member, "name"));
    (void)json_object_set(row, "name", json_object_get(budget, "name"));
    (void)json_object_del(row, "limited_by");
    table_row(t, row);
    json_decref(row);
}

void view_budgets(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "BUDGET", "name", .put = put_text }, { "MEMBER", "member", .put = put_member },
        { ">WEIGHT", "weight", .put = put_weight }, { ">RATE", "rate_per_s", .put = put_used },
        { ">ACTIVE", "active", .put = put_used }, { "LIMITED_BY", "limited_by", .put = put_text },
    };
    const json_t *x;
    json_t *member;
    struct table t;
    size_t i, k;

    table_init(&t, cols, ARRAY_LEN(cols));
    json_array_foreach(json_object_get(doc, "budgets"), i, x) {
        table_row(&t, x);
        json_array_foreach(json_object_get(x, "members"), k, member)
            member_row(&t, x, member);
    }
    table_put(b, &t, 0, "no budgets\n");
}

/* ---- tickets, limits, refusals ---- */

static void put_scalar(struct buf *b, const json_t *v)
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

void view_ticket(struct buf *b, const json_t *ticket)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)ticket, key, v) {
        ctl_pad(b, key, 16);
        put_scalar(b, v);
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
        ctl_say(b, t, "{rate_per_s/}, ");
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
        if (ctl_equals(l, "metric", metric) != changed)
            continue;
        ctl_say(b, l, changed ? "{metric}: " : "{metric} still limits it, too: ");
        put_tiers(b, json_object_get(l, "tiers"));
        buf_byte(b, '\n');
    }
}

void view_limits(struct buf *b, const json_t *def, const char *metric)
{
    put_limits(b, def, metric, true);
    put_limits(b, def, metric, false);
    if (json_array_size(json_object_get(def, "limits")) == 0)
        ctl_say(b, def, "no metric limits it now: fallback_per_s does, {fallback_per_s/}\n");
    if (ctl_f64(def, "release_per_s") <= 0)
        return;
    ctl_say(b, def, "not in force while the rate is fixed at {release_per_s/}: ");
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
    if (ctl_equals(p, "detail", "-"))
        buf_printf(b, "status %d and no reason: is this the address of segq, or of a proxy before it? "
                      "see --admin, --router", status);
    else
        ctl_say(b, p, ctl_equals(p, "reason", "-") ? "{detail}" : "{detail}: {reason}");
}

void view_pretty(struct buf *b, const json_t *doc)
{
    char *s = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    if (s != NULL)
        ctl_clean_json(b, s, strlen(s)); /* jansson escapes C0 alone */
    free(s);
}
