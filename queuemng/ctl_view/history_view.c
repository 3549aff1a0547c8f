/* history_view.c: what happened, a line each: a ticket's audit trail (oldest first), operators'
 * changes, events of the cluster. Pure. */
#include "queuemng/ctl_view/history_view.h"

#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/text.h"

#define KEY_WIDTH 16

/* ---- a ticket ---- */

static void put_scalar(struct buf *b, const char *key, const json_t *v)
{
    size_t n = strlen(key);

    if (json_is_string(v))
        ctl_clean(b, json_string_value(v));
    else if (json_is_number(v) && n > 3 && strcmp(key + n - 3, "_at") == 0)
        ctl_moment(b, json_number_value(v));
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
    const char *key;
    json_t *v;

    ctl_say(b, event, "  {time}  ");
    ctl_pad(b, ctl_str(event, "event"), 9);
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
    if (!ctl_is(n, "whole"))
        ctl_say(b, n, !ctl_is(n, "answered") ? "  {node} did not answer\n"
                      : !ctl_is(n, "trail")  ? "  {node} keeps no audit trail (audit_dir)\n"
                                             : "  {node} did not look through all of its trail\n");
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
        ctl_pad(b, key, KEY_WIDTH);
        put_scalar(b, key, v);
        buf_byte(b, '\n');
    }
    ctl_pad(b, "audit trail", KEY_WIDTH);
    buf_printf(b, "%zu lines", json_array_size(events));
    buf_str(b, ctl_is(doc, "trail_whole") ? "\n" : ", perhaps not all\n");
    json_array_foreach(nodes, i, v)
        put_node(b, v);
    json_array_foreach(events, i, v)
        put_event(b, v);
}

/* ---- operators and the cluster ---- */

static void put_value(struct buf *b, const json_t *v)
{
    char *s = v != NULL ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    ctl_clean(b, s != NULL ? s : "-");
    free(s);
}

/* "claim \"1m\" -> \"5s\"", or what was asked for if it is no change of a key. */
static void put_done(struct buf *b, const json_t *e)
{
    const json_t *changes = json_object_get(e, "changes"), *x;
    size_t i;

    json_array_foreach(changes, i, x) {
        ctl_say(b, x, i > 0 ? ", {key} " : " {key} ");
        put_value(b, json_object_get(x, "from"));
        buf_str(b, " -> ");
        put_value(b, json_object_get(x, "to"));
    }
    if (json_array_size(changes) == 0)
        ctl_say(b, e, ctl_equals(e, "query", "-") ? " {method} {path}" : " {method} {path}?{query}");
}

void view_audit(struct buf *b, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "entries");
    json_int_t unwritten = json_integer_value(json_object_get(doc, "unwritten"));

    for (size_t i = json_array_size(list); i > 0; i--) { /* the youngest at the bottom */
        const json_t *e = json_array_get(list, i - 1);

        ctl_say(b, e, "{at} {who} ({from}) {name}:");
        put_done(b, e);
        buf_byte(b, '\n');
    }
    if (json_array_size(list) == 0)
        buf_str(b, "nobody has changed anything\n");
    if (unwritten > 0)
        buf_printf(b, "%lld of them could NOT be written to audit.jsonl: is the disk full?\n",
                   (long long)unwritten);
    if (b->len > 0)
        b->len--; /* the end of the line is added when it is printed */
}

void view_events(struct buf *b, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "events"), *e;
    json_int_t now = json_integer_value(json_object_get(doc, "now_ms"));
    size_t i;

    json_array_foreach(list, i, e) {
        json_int_t ago = now - json_integer_value(json_object_get(e, "at_ms"));

        buf_printf(b, "%s%7lld s ago ", i > 0 ? "\n" : "", (long long)(ago / 1000));
        ctl_pad(b, ctl_str(e, "level"), 6);
        put_text(b, e, "text");
    }
    if (json_array_size(list) == 0)
        buf_str(b, "nothing has happened");
}
