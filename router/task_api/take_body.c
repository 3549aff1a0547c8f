/* take_body.c: see take_body.h. */
#include "router/task_api/take_body.h"

#include <string.h>

#include "common/task/queue_name.h"
#include "common/submit/body.h"

static bool is_there(const struct take_body *b, struct slice name)
{
    uint32_t i = 0;

    while (i < b->n_queues && (strlen(b->queue[i]) != name.n || memcmp(b->queue[i], name.p, name.n) != 0))
        i++;
    return i < b->n_queues;
}

/* to: n_queues. */
static bool read_queues(const struct json_member *m, struct json_scan *s, void *to)
{
    struct take_body *b = container_of(to, struct take_body, n_queues);
    bool first = true, good = json_scan_peek(s) == '[';
    struct slice one;

    if (!good || !json_scan_enter(s, '[')) {
        (void)json_scan_value(s, &one);
        return false;
    }
    while (json_scan_item(s, &first)) {
        good = json_string_or_skip(s, &one) && good && b->n_queues < m->most &&
               queue_name_ok(one.p, one.n) && !is_there(b, one);
        if (!good)
            continue;
        memcpy(b->queue[b->n_queues], one.p, one.n);
        b->queue[b->n_queues++][one.n] = '\0';
    }
    return good && b->n_queues > 0;
}

#define AT(m) offsetof(struct take_body, m)
static const struct json_member members[] = {
    { "queues", AT(n_queues), 1, TAKE_QUEUES_MAX, read_queues, RANGE_UNSAID, NULL,
      " must be a list of 1 to 16 names of queues, each once, no patterns" },
    { "n", AT(n), 1, TASK_ROWS_MAX, json_whole, RANGE_NUMBER, NULL, " must be a whole number" },
    { "lease", AT(lease), 1, TASK_LEASE_MAX_MS, json_span, RANGE_TIME, NULL,
      " must be a time such as \"500ms\", \"2s\", \"1h\", or seconds" },
    { "wait", AT(wait), 0, TASK_WAIT_MAX_MS, json_span, RANGE_TIME, NULL,
      " must be a time such as \"500ms\", \"2s\", \"1h\", or seconds" },
};

bool take_body_read(struct take_body *b, struct slice text, struct body_error *e)
{
    uint64_t has;

    *b = (struct take_body){ .n = 1 };
    *e = (struct body_error){ 0 };
    if (text.n > 0 && !json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, text, b, &has, e))
        return false;
    if (b->n_queues == 0)
        return json_say(e, "queues is missing: a list of 1 to 16 names, such as [\"images\", \"ride/7\"]",
                        (struct slice){ "", 0 }, "");
    return true;
}
