/* trace_view.c: one ticket's story as text: what is known now, then its lines of the audit
 * trail, oldest first. Pure. */
#include "queuemng/ctl/trace_view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queuemng/ctl/text.h"

#define KEY_WIDTH 16

static void put_key(struct buf *b, const char *key)
{
    ctl_clean(b, key);
    for (size_t n = strlen(key); n < KEY_WIDTH; n++)
        buf_byte(b, ' ');
}

/* Unix seconds as people read them. */
static void put_moment(struct buf *b, double s)
{
    time_t at = (time_t)s;
    char text[40];
    struct tm tm;

    if (s <= 0 || gmtime_r(&at, &tm) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        buf_str(b, "-");
    else
        buf_str(b, text);
}

static void put_scalar(struct buf *b, const char *key, const json_t *v)
{
    size_t n = strlen(key);

    if (json_is_string(v))
        ctl_clean(b, json_string_value(v));
    else if (json_is_number(v) && n > 3 && strcmp(key + n - 3, "_at") == 0)
        put_moment(b, json_number_value(v));
    else if (json_is_integer(v))
        buf_i64(b, json_integer_value(v));
    else if (json_is_real(v))
        buf_printf(b, "%.10g", json_real_value(v));
    else
        buf_str(b, json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "-");
}

static bool is_told_first(const char *key)
{
    return strcmp(key, "time") == 0 || strcmp(key, "event") == 0 || strcmp(key, "ticket") == 0;
}

static void put_event(struct buf *b, const json_t *event)
{
    const char *key, *name = ctl_str(event, "event");
    json_t *v;

    buf_str(b, "  ");
    ctl_clean(b, ctl_str(event, "time"));
    buf_str(b, "  ");
    ctl_clean(b, name);
    for (size_t n = strlen(name); n < 9; n++)
        buf_byte(b, ' ');
    json_object_foreach((json_t *)event, key, v) {
        if (is_told_first(key))
            continue;
        buf_byte(b, ' ');
        ctl_clean(b, key);
        buf_byte(b, '=');
        put_scalar(b, "", v);
    }
    buf_byte(b, '\n');
}

static void put_node(struct buf *b, const json_t *n)
{
    bool answered = json_is_true(json_object_get(n, "answered"));
    bool trail = json_is_true(json_object_get(n, "trail"));

    if (json_is_true(json_object_get(n, "whole")))
        return;
    buf_str(b, "  ");
    ctl_clean(b, ctl_str(n, "node"));
    buf_str(b, !answered ? " did not answer"
               : !trail  ? " keeps no audit trail (audit_dir)"
                         : " did not look through all of its trail");
    buf_byte(b, '\n');
}

void view_why(struct buf *b, const json_t *doc)
{
    const json_t *events = json_object_get(doc, "events"), *nodes = json_object_get(doc, "nodes");
    const char *key;
    json_t *v;
    size_t i;

    json_object_foreach((json_t *)doc, key, v) {
        if (json_is_array(v) || strcmp(key, "trail_whole") == 0)
            continue;
        put_key(b, key);
        put_scalar(b, key, v);
        buf_byte(b, '\n');
    }
    put_key(b, "audit trail");
    buf_printf(b, "%zu lines", json_array_size(events));
    buf_str(b, json_is_true(json_object_get(doc, "trail_whole")) ? "\n" : ", perhaps not all\n");
    json_array_foreach(nodes, i, v)
        put_node(b, v);
    json_array_foreach(events, i, v)
        put_event(b, v);
}
