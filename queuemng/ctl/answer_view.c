/* answer_view.c: single answers as text: queue definitions, a ticket, a refusal. Pure.
 */
#include "queuemng/ctl/answer_view.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/ctl/text.h"

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
    const char *mode = json_string_value(json_object_get(def, "mode"));
    double fixed = json_number_value(json_object_get(def, "release_per_s"));
    const json_t *limits = json_object_get(def, "limits"), *l;
    char text[256] = "", slots[32] = "";
    size_t i, n = 0;

    if (mode != NULL && strcmp(mode, "rate") != 0)
        snprintf(slots, sizeof(slots), "%lld inside",
                 (long long)json_integer_value(json_object_get(def, "max_active")));
    if (mode != NULL && strcmp(mode, "slots") == 0) {
        table_cell(t, "%s", slots);
        return;
    }
    if (slots[0] != '\0')
        strcat(slots, ", ");
    if (fixed > 0) {
        table_cell(t, "%s%g/s", slots, fixed);
        return;
    }
    json_array_foreach(limits, i, l)
    {
        const char *m = json_string_value(json_object_get(l, "metric"));

        if (m == NULL || n + strlen(m) + 2 >= sizeof(text))
            continue;
        if (n > 0)
            text[n++] = ',';
        memcpy(text + n, m, strlen(m) + 1);
        n += strlen(m);
    }
    table_cell(t, n > 0 ? "%sby %s" : "%sby nothing: fallback%s", slots, text);
}

static void lanes_cell(struct table *t, const json_t *def)
{
    size_t n = json_array_size(json_object_get(def, "lanes"));

    table_u64(t, n > 0 ? n : 1); /* none is one named default */
}

static const char *name_of(const json_t *def)
{
    const char *s = json_string_value(json_object_get(def, "name"));

    if (s == NULL)
        s = json_string_value(json_object_get(def, "queue"));
    return s != NULL ? s : "-";
}

void view_queues(struct buf *b, const json_t *queues)
{
    const json_t *list =
        json_is_array(queues) ? queues : json_object_get(queues, "queues");
    const json_t *q;
    struct table t;
    size_t i;

    table_init(&t, "QUEUE STATE >LANES >CAPACITY RATE");
    json_array_foreach(list, i, q)
    {
        const char *state = json_string_value(json_object_get(q, "state"));

        table_cell(&t, "%s", name_of(q));
        table_cell(&t, "%s", state != NULL ? state : "-");
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

void view_ticket(struct buf *b, const json_t *ticket)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)ticket, key, v)
    {
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
        last = json_number_value(json_object_get(t, "below"));
        buf_printf(b, "below %.10g: ", last);
        ctl_rate(b, json_number_value(json_object_get(t, "rate_per_s")));
        buf_str(b, ", ");
    }
    if (json_array_size(tiers) > 0)
        buf_printf(b, "from %.10g on nobody", last);
}

static const char *metric_of(const json_t *limit)
{
    const char *s = json_string_value(json_object_get(limit, "metric"));

    return s != NULL ? s : "-";
}

/* The one that was changed first, then those that are easily forgotten. */
static void put_limits(struct buf *b, const json_t *def, const char *metric, bool changed)
{
    const json_t *l;
    size_t i;

    json_array_foreach(json_object_get(def, "limits"), i, l) {
        if ((strcmp(metric_of(l), metric) == 0) != changed)
            continue;
        ctl_clean(b, metric_of(l));
        buf_str(b, changed ? ": " : " still limits it, too: ");
        put_tiers(b, json_object_get(l, "tiers"));
        buf_byte(b, '\n');
    }
}

void view_limits(struct buf *b, const json_t *def, const char *metric)
{
    double fixed = json_number_value(json_object_get(def, "release_per_s"));

    put_limits(b, def, metric, true);
    put_limits(b, def, metric, false);
    if (json_array_size(json_object_get(def, "limits")) == 0) {
        buf_str(b, "no metric limits it now: fallback_per_s does, ");
        ctl_rate(b, json_number_value(json_object_get(def, "fallback_per_s")));
        buf_byte(b, '\n');
    }
    if (fixed <= 0)
        return;
    buf_str(b, "not in force while the rate is fixed at ");
    ctl_rate(b, fixed);
    buf_str(b, ": segqctl rate ");
    ctl_clean(b, name_of(def));
    buf_str(b, " limits\n");
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s != NULL && *s != '\0' ? s : NULL;
}

void view_problem(struct buf *b, int status, const json_t *p)
{
    const char *title = text_of(p, "title"), *detail = text_of(p, "detail");
    const char *reason = text_of(p, "reason"), *code = text_of(p, "code");

    ctl_clean(b, title != NULL ? title : "refused");
    if (detail != NULL && (title == NULL || strcmp(title, detail) != 0)) {
        buf_str(b, ": ");
        ctl_clean(b, detail);
    }
    buf_printf(b, " (%d", status);
    for (int i = 0; i < 2; i++) {
        const char *s = i == 0 ? code : reason;

        if (s == NULL)
            continue;
        buf_str(b, ", ");
        ctl_clean(b, s);
    }
    buf_str(b, ")");
}
