/* log_view.c: events and changes by operators, a line each. Pure. */
#include "queuemng/ctl/log_view.h"

#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl/text.h"

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
    const char *query = ctl_str(e, "query");
    size_t i;

    json_array_foreach(changes, i, x) {
        buf_str(b, i > 0 ? ", " : " ");
        ctl_clean(b, ctl_str(x, "key"));
        buf_byte(b, ' ');
        put_value(b, json_object_get(x, "from"));
        buf_str(b, " -> ");
        put_value(b, json_object_get(x, "to"));
    }
    if (json_array_size(changes) > 0)
        return;
    buf_byte(b, ' ');
    ctl_clean(b, ctl_str(e, "method"));
    buf_byte(b, ' ');
    ctl_clean(b, ctl_str(e, "path"));
    if (strcmp(query, "-") != 0) {
        buf_byte(b, '?');
        ctl_clean(b, query);
    }
}

void view_audit(struct buf *b, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "entries");
    json_int_t unwritten = json_integer_value(json_object_get(doc, "unwritten"));

    for (size_t i = json_array_size(list); i > 0; i--) { /* the youngest at the bottom */
        const json_t *e = json_array_get(list, i - 1);

        ctl_clean(b, ctl_str(e, "at"));
        buf_byte(b, ' ');
        ctl_clean(b, ctl_str(e, "who"));
        buf_str(b, " (");
        ctl_clean(b, ctl_str(e, "from"));
        buf_str(b, ") ");
        ctl_clean(b, ctl_str(e, "name"));
        buf_byte(b, ':');
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

        buf_printf(b, "%s%7lld s ago %-5s ", i > 0 ? "\n" : "", (long long)(ago / 1000),
                   ctl_str(e, "level"));
        ctl_clean(b, ctl_str(e, "text"));
    }
    if (json_array_size(list) == 0)
        buf_str(b, "nothing has happened");
}
