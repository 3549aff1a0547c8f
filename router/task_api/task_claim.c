/* task_claim.c: see task_claim.h. */
#include "router/task_api/task_claim.h"

#include <string.h>

#include "common/task/queue_name.h"

/* A text member, if there is one: {"", 0} without it. False: it is no text. */
static bool take_text(const json_t *o, const char *name, struct slice *out)
{
    const json_t *m = json_object_get(o, name);

    *out = (struct slice){ (char *)(uintptr_t)"", 0 };
    if (m != NULL)
        *out = (struct slice){ (char *)(uintptr_t)json_string_value(m), json_string_length(m) };
    return m == NULL || json_is_string(m);
}

static int take_queues(const json_t *o, struct slice queue, const char **why)
{
    const json_t *list = json_object_get(o, "queues");
    bool opens = false;

    if (json_array_size(list) == 0)
        return claim_refuse(why, "the claim does not say for which queues of tasks it is (queues)");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *match = json_string_value(json_array_get(list, i));

        if (match == NULL || !queue_match_ok(match))
            return claim_refuse(why, "the claim's queues are not names or patterns of queues");
        opens = opens || queue_matches(match, queue.p, queue.n);
    }
    return opens ? 0 : claim_refuse(why, "the claim is not for this queue (queues)");
}

static int take_jti(struct task_claim *c, const json_t *o, const char **why)
{
    struct slice t;

    if (!take_text(o, "jti", &t) || t.n > TASK_IDEM_MAX || !task_text_ok(t))
        return claim_refuse(why, "the claim has no jti of 1 to 128 visible ASCII characters");
    memcpy(c->jti, t.p, t.n + 1);
    return 0;
}

static int take_key(struct task_claim *c, const json_t *o, const char **why)
{
    struct slice t;

    if (!take_text(o, "key", &t) || (t.n > 0 && !task_key_ok(t)))
        return claim_refuse(why, "the claim's key is not the key of a task");
    memcpy(c->key, t.p, t.n + 1);
    return 0;
}

static int take_priority(struct task_claim *c, const json_t *o, const char **why)
{
    const json_t *m = json_object_get(o, "priority");
    json_int_t v = json_integer_value(m);

    if (m != NULL && (!json_is_integer(m) || v < 0 || v >= TASK_PRIORITIES))
        return claim_refuse(why, "the claim's priority is not a whole number from 0 to 7");
    c->priority = (uint8_t)v;
    return 0;
}

int task_claim_check(struct task_claim *c, struct slice jwt, const struct claim_key *keys,
                     size_t n_keys, struct slice queue, int64_t max_ttl_s, int64_t now_s,
                     const char **why)
{
    json_t *o;
    int rc = claim_open(&o, jwt.p, jwt.n, keys, n_keys, max_ttl_s, now_s, why);

    *c = (struct task_claim){ 0 };
    if (rc < 0)
        return rc;
    rc = take_queues(o, queue, why);
    if (rc == 0)
        rc = take_jti(c, o, why);
    if (rc == 0)
        rc = take_key(c, o, why);
    if (rc == 0)
        rc = take_priority(c, o, why);
    json_decref(o);
    return rc;
}

static struct slice slice_of(const char *text)
{
    return (struct slice){ (char *)(uintptr_t)text, strlen(text) };
}

static bool is_other(struct slice said, const char *text)
{
    return said.n > 0 && (said.n != strlen(text) || memcmp(said.p, text, said.n) != 0);
}

const char *task_claim_bind(const struct task_claim *c, struct task_body *b)
{
    enum { MAY = WITH(PAYLOAD) | WITH(KEY) | WITH(PRIORITY) | WITH(DELAY) | WITH(AT) |
                 WITH(RESULT) | WITH(IDEMPOTENCY_KEY) | WITH(CLAIM) };

    if ((b->has & ~(uint32_t)MAY) != 0)
        return "with a claim a task has payload, delay, at and result of its own, and nothing else";
    if (is_other(b->key, c->key))
        return "the claim is for another key (key)";
    if ((b->has & WITH(PRIORITY)) != 0 && b->priority != c->priority)
        return "the claim is for another priority (priority)";
    if (is_other(b->idempotency_key, c->jti))
        return "the Idempotency-Key of a claim is its jti";
    b->key = slice_of(c->key);
    b->priority = c->priority;
    b->idempotency_key = slice_of(c->jti);
    return NULL;
}
