/* archive_line.c: its members, one after another. */
#include "task/node/archive_line.h"

#include <assert.h>
#include <string.h>

#include "common/trail/trail_line.h"

static void put_id(struct jline *o, const struct task_end *end)
{
    jline_name(o, "id");
    *o->p++ = '"';
    o->p = text_u64(o->p, end->part);
    *o->p++ = '-';
    o->p = text_u64(o->p, end->no);
    *o->p++ = '"';
}

static void put_key(struct jline *o, const struct task_end *end)
{
    char key[KEY_TEXT_MAX + 1];
    size_t n = strnlen(end->key1, TASK_NAME_MAX), below = strnlen(end->key2, TASK_NAME_MAX);

    if (n == 0)
        return;
    memcpy(key, end->key1, n);
    if (below > 0) {
        key[n++] = '/';
        memcpy(key + n, end->key2, below);
    }
    jline_text(o, "key", key, n + below);
}

static void put_labels(struct jline *o, const char *labels)
{
    if (*labels == 0)
        return;
    jline_name(o, "labels");
    for (const char *p = labels; *p != 0; p += *p == ',') {
        size_t n = strcspn(p, ",");

        *o->p++ = p == labels ? '[' : ',';
        jline_quoted(o, p, n);
        p += n;
    }
    *o->p++ = ']';
}

static void put_known(struct jline *o, const char *name, int64_t wall_ms)
{
    if (wall_ms > 0)
        jline_moment(o, name, wall_ms);
}

size_t archive_line(const struct task_end *end, char *out)
{
    const char *state = task_state_word(end->state);
    struct jline o = { .p = out };

    jline_moment(&o, "ended_at", end->ended_ms);
    put_id(&o, end);
    jline_text(&o, "queue", end->queue, strnlen(end->queue, TASK_NAME_MAX));
    put_key(&o, end);
    put_labels(&o, end->labels);
    jline_u64(&o, "priority", end->priority);
    jline_text(&o, "state", state, strlen(state));
    jline_u64(&o, "attempts", end->attempts);
    put_known(&o, "entered_at", end->entered_ms);
    put_known(&o, "started_at", end->started_ms);
    if (end->why[0] != 0)
        jline_text(&o, "why", end->why, strlen(end->why));
    if (end->status != 0)
        jline_u64(&o, "http_status", end->status);
    jline_end(&o);
    assert(o.p - out <= ARCHIVE_LINE_MAX);
    return (size_t)(o.p - out);
}
