/* take_body.c: see take_body.h. */
#include "router/task_api/take_body.h"

#include <string.h>

#include "common/task/queue_name.h"
#include "common/submit/body.h"

/* to: n_queues. */
static bool take_queue(void *to, struct slice one)
{
    struct take_body *b = container_of(to, struct take_body, n_queues);

    for (uint32_t i = 0; i < b->n_queues; i++)
        if (slice_is(one, b->queue[i]))
            return false;
    if (!queue_name_ok(one.p, one.n))
        return false;
    memcpy(b->queue[b->n_queues], one.p, one.n);
    b->queue[b->n_queues++][one.n] = '\0';
    return true;
}

static bool read_queues(const struct json_member *m, struct json_scan *s, void *to)
{
    return json_list(m, s, to, take_queue);
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
