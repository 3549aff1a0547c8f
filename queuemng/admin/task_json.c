/* task_json.c: states as sentences. */
#include "queuemng/admin/task_json.h"

#include <stdio.h>
#include <string.h>

#include "common/task/state.h"
#include "common/ticket/token.h"

/* ---- a task ---------------------------------------------------------------------- */

/* "tenant7/user42"; null: none */
static json_t *key_text(const char *key1, const char *key2)
{
    if (key1[0] == '\0')
        return json_null();
    return json_sprintf("%s%s%s", key1, key2[0] != '\0' ? "/" : "", key2);
}

/* "a,b" as ["a","b"] */
json_t *task_list_json(const char *p, size_t n)
{
    json_t *list = json_array();

    for (const char *end = p + n; p < end; p++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        size_t one = comma != NULL ? (size_t)(comma - p) : (size_t)(end - p);

        (void)json_array_append_new(list, json_stringn(p, one));
        p += one;
    }
    return list;
}

/* "" for what is not UTF-8 */
static json_t *reason(const struct bytes_of *b)
{
    json_t *j = b->n > 0 ? json_stringn((const char *)b->p, b->n) : NULL;

    return j != NULL ? j : json_string("");
}

/* The attempts that have ended, the newest at the end. */
static json_t *history(const struct msg_task_get_ans *m)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < m->n_history; i++) {
        const struct attempt_row *h = &m->history[i];

        (void)json_array_append_new(
            list, json_pack("{s:i,s:s,s:I,s:o,s:o,s:o,s:o}", "attempt", (int)h->no, "end",
                            attempt_end_word(h->end), "status", (json_int_t)h->number, "started_at",
                            admin_moment(h->started_ms), "ended_at", admin_moment(h->ended_ms), "retry_at",
                            admin_moment(h->again_ms), "reason", reason(&h->reason)));
    }
    return list;
}

/* Which limits are closed, as words. */
static json_t *limits(uint8_t closed)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < CLOSED_BITS; i++)
        if ((closed >> i & 1) != 0)
            (void)json_array_append_new(list, json_string(closed_word(i)));
    return list;
}

/* The tasks before and behind it, by their ids. */
static void add_chain(json_t *j, const struct msg_task_get_ans *m)
{
    if (m->after_no != 0)
        (void)json_object_set_new(j, "after", json_sprintf("%u-%lu", m->after_part, m->after_no));
    if (m->then == CHAIN_NONE)
        return;
    (void)json_object_set_new(j, "then", json_string(chain_state_word(
        m->then == CHAIN_WAITS && m->state == TASK_DEAD ? CHAIN_ENDED : m->then)));
    if (m->then_no != 0)
        (void)json_object_set_new(j, "then_task", json_sprintf("%u-%lu", m->then_part, m->then_no));
    if (m->then == CHAIN_FAILED)
        (void)json_object_set_new(j, "then_why", json_string(chain_why_word(m->then_why)));
}

/* The same members as in GET /v1/tasks. */
static json_t *progress(const struct progress_said *p)
{
    json_t *j = json_pack("{s:o}", "at", admin_moment(p->ms));

    if (p->percent != 0)
        (void)json_object_set_new(j, "percent", json_integer(p->percent - 1));
    if (p->text.n > 0)
        (void)json_object_set_new(j, "text", json_stringn((const char *)p->text.p, p->text.n));
    if (p->data.n > 0)
        (void)json_object_set_new(j, "data", json_loadb((const char *)p->data.p, p->data.n, JSON_DECODE_ANY, NULL));
    return j;
}

static bool is_call(const struct mng_part_view *p)
{
    return p->endpoint != NULL && p->endpoint[0] != '\0';
}

static void waits_for_call(const struct msg_task_get_ans *m, const struct mng_part_view *p, char *out,
                           size_t cap)
{
    const char *endpoint = p->endpoint;

    if (m->eta == TASK_ETA_CONCURRENCY && p->targeted)
        snprintf(out, cap, "endpoint %s, or each of its targets that is up, has as many calls under way as it may "
                 "have (max_concurrent): `segqctl endpoint targets %s`", endpoint, endpoint);
    else if (m->eta == TASK_ETA_CONCURRENCY)
        snprintf(out, cap, "endpoint %s has as many calls under way as it may have (max_concurrent)", endpoint);
    else if (m->eta == TASK_ETA_ADAPTIVE)
        snprintf(out, cap, "endpoint %s has as many calls under way as its target bears now (adaptive)", endpoint);
    else if (m->eta == TASK_ETA_RATE && m->eta_ms != 0)
        snprintf(out, cap, "endpoint %s makes its call later: by its rate, or since the target said so "
                 "(Retry-After, or what it says is left: `segqctl endpoint list`)", endpoint);
    else
        snprintf(out, cap, "no limit stops it: endpoint %s makes its call after those before it",
                 endpoint);
}

static void waits_for(const struct msg_task_get_ans *m, const struct mng_part_view *p, char *out,
                      size_t cap)
{
    const char *of = m->limited == CLOSED_WINDOW ? strcmp(m->limited_by, p->endpoint) == 0 ? "endpoint" : "budget"
                     : strcmp(m->limited_by, m->queue) == 0 ? "queue"
                     : strcmp(m->limited_by, p->pool) == 0  ? "pool"
                                                            : "key";

    if (p->paused)
        snprintf(out, cap, "pool %s is paused: no task of it starts", p->pool);
    else if (m->eta == TASK_ETA_TRIPPED)
        snprintf(out, cap, "endpoint %s was tripped by an operator: no call begins until `segqctl "
                 "endpoint reset %s`", p->endpoint, p->endpoint);
    else if (m->eta == TASK_ETA_ENDPOINT && p->targeted)
        snprintf(out, cap, "each target of endpoint %s is down, drained, or cannot be used: `segqctl endpoint "
                 "targets %s`", p->endpoint, p->endpoint);
    else if (m->eta == TASK_ETA_ENDPOINT)
        snprintf(out, cap, "endpoint %s is down, or cannot be used: `segqctl endpoint list`",
                 p->endpoint);
    else if (m->eta == TASK_ETA_PAUSED && is_call(p) && (m->limited & CLOSED_PAUSE) == 0)
        snprintf(out, cap, "endpoint %s is paused: no call of it begins", p->endpoint);
    else if ((m->limited & CLOSED_AT_ONCE) != 0)
        snprintf(out, cap, "%s %s has as many tasks running as it may have (max_concurrent)", of, m->limited_by);
    else if ((m->limited & CLOSED_PAUSE) != 0)
        snprintf(out, cap, "%s %s is paused", of, m->limited_by);
    else if ((m->limited & CLOSED_WINDOW) != 0)
        snprintf(out, cap, "%s %s has used what its calendar window has room for: the next one begins at limited_until",
                 of, m->limited_by);
    else if (m->limited == CLOSED_RATE && m->limited_until_ms == 0)
        snprintf(out, cap, "the limits of pool %s let nothing start now", p->pool);
    else if ((m->limited & CLOSED_RATE) != 0)
        snprintf(out, cap, "the rate of %s %s lets the next one start at limited_until", of,
                 m->limited_by);
    else if ((m->limited & CLOSED_BUDGET) != 0)
        snprintf(out, cap, "endpoint %s has no more of budget %s now", p->endpoint, m->limited_by);
    else if (is_call(p))
        waits_for_call(m, p, out, cap);
    else
        snprintf(out, cap, "no limit stops it: a worker has to take it, after those before it");
}

static const char *last_end(const struct msg_task_get_ans *m)
{
    return m->n_history > 0 ? attempt_end_word(m->history[m->n_history - 1].end) : "see its history";
}

/* at: the target that has it. */
static void because(const struct msg_task_get_ans *m, const struct mng_part_view *p, struct mng_target_place at,
                    char *out, size_t cap)
{
    switch ((enum task_state)m->state) {
    case TASK_WAITING:
        waits_for(m, p, out, cap);
        break;
    case TASK_SCHEDULED:
        snprintf(out, cap, "submitted with a delay: waits in line from ends_at on");
        break;
    case TASK_RETRYING:
        snprintf(out, cap, "attempt %u failed (%s): waits in line again from ends_at on",
                 m->attempts, last_end(m));
        break;
    case TASK_RUNNING:
        snprintf(out, cap, "%s%s%s%s%s%s: attempt %u; the lease ends at ends_at%s",
                 is_call(p) ? "the call is under way" : "a worker has it", at.url[0] != 0 ? " at " : "", at.url,
                 at.address[0] != 0 ? " (" : "", at.address, at.address[0] != 0 ? ")" : "", m->attempts,
                 m->stopping ? "; it was cancelled: this attempt is its last" : "");
        break;
    case TASK_DEAD:
        snprintf(out, cap, "%u attempt%s failed (the last one: %s), and no more are allowed: redrive or "
                 "discard it", m->attempts, m->attempts == 1 ? "" : "s", last_end(m));
        break;
    case TASK_EXPIRED:
        snprintf(out, cap, "waited for longer than its task_ttl");
        break;
    default:
        snprintf(out, cap, "%s%s: kept until ends_at",
                 task_state_word((enum task_state)m->state),
                 task_maybe_executed(m) ? ", but an attempt had begun, and may have done it" : "");
    }
}

json_t *task_json(const struct msg_task_get_ans *m, const struct mng_part_view *p,
                  struct mng_target_place target, const struct token_key *k)
{
    char token[TASK_TOKEN_LEN + 1] = "", id[40], why[300 + ENDPOINT_URL_MAX];
    json_t *j;

    if (k != NULL)
        task_token_write(p->st.part, m->no, k, token);
    snprintf(id, sizeof(id), "%u-%llu", p->st.part, (unsigned long long)m->no);
    because(m, p, target, why, sizeof(why));
    j = json_pack("{s:s,s:s*,s:s,s:s,s:s,s:i,s:i,s:I,s:b}", "id", id, "task", k != NULL ? token : NULL, "queue",
                  m->queue, "state", task_state_word((enum task_state)m->state), "because", why,
                  "priority", m->priority, "attempts", (int)m->attempts, "order",
                  (json_int_t)m->order, "stopping", m->stopping);
    if (j == NULL)
        return NULL;
    (void)json_object_update_new(j, json_pack("{s:o,s:o,s:o,s:o,s:s,s:s}", "key",
                                              key_text(m->key1, m->key2), "labels",
                                              task_list_json(m->own.labels, strlen(m->own.labels)), "entered_at",
                                              admin_moment(m->entered_ms), "ends_at",
                                              admin_moment(m->until_ms), "pool", p->pool, "node",
                                              p->node));
    (void)json_object_update_new(j, json_pack("{s:o,s:o}", "started_at", admin_moment(m->started_ms),
                                              "ended_at", admin_moment(m->ended_ms)));
    add_chain(j, m);
    if (own_cost(&m->own) > 1 || m->cost_used != 0)
        (void)json_object_set_new(j, "cost", json_integer((json_int_t)own_cost(&m->own)));
    if (m->offer.n > 0)
        (void)json_object_set_new(j, "offer_to", task_list_json((const char *)m->offer.p, m->offer.n));
    if (m->cost_used != 0)
        (void)json_object_set_new(j, "cost_used", json_integer((json_int_t)m->cost_used - 1));
    if (m->progress.ms != 0)
        (void)json_object_set_new(j, "progress", progress(&m->progress));
    if (target.url[0] != 0)
        (void)json_object_set_new(j, "target", json_string(target.url));
    if (target.address[0] != 0)
        (void)json_object_set_new(j, "target_address", json_string(target.address));
    if (task_maybe_executed(m))
        (void)json_object_set_new(j, "maybe_executed", json_true());
    if (m->n_history > 0)
        (void)json_object_update_new(j, json_pack("{s:o,s:I}", "history", history(m),
                                                  "earlier_attempts", (json_int_t)m->earlier));
    if (m->state == TASK_WAITING)
        (void)json_object_update_new(
            j, json_pack("{s:I,s:I,s:s*,s:o,s:o}", "position", (json_int_t)m->position,
                         "ahead_of_key", (json_int_t)m->ahead_of_key, "limited_by",
                         m->limited != 0 ? m->limited_by : NULL, "limits", limits(m->limited),
                         "limited_until", admin_moment(m->limited_until_ms)));
    if (m->ahead_of_priority != 0)
        (void)json_object_set_new(j, "ahead_of_priority", json_integer((json_int_t)m->ahead_of_priority - 1));
    return j;
}

static json_t *row_json(const char *kind, json_t *name, const struct key_row *k)
{
    return json_pack("{s:o,s:I,s:I,s:o,s:o}", kind, name, "waiting", (json_int_t)k->waiting,
                     "running", (json_int_t)k->running, "limits", limits((uint8_t)k->limited),
                     "limited_until", admin_moment(k->limited_until_ms));
}

json_t *task_key_json(const struct key_row *k, const char *queue, const struct mng *m)
{
    json_t *key = key_text(k->key1, k->key2);
    const char *text = json_string_value(key);
    json_t *j = row_json("key", key, k);
    char name[DEF_NAME_MAX + 1];
    bool pinned;

    snprintf(name, sizeof(name), "%s:%s", queue, text != NULL ? text : "");
    pinned = mng_defined(m, DEF_PIN, name, NULL) != NULL;
    (void)json_object_set_new(j, "pinned", json_boolean(pinned));
    return j;
}

json_t *task_queue_json(const struct key_row *k)
{
    json_t *j = row_json("queue", json_string(k->key1), k);

    (void)json_object_update_new(j, json_pack("{s:I,s:b}", "dead", (json_int_t)k->dead,
                                              "redriving", (int)k->redriving));
    return j;
}

json_t *task_schedule_json(const struct schedule_row *k, const struct mng_part_view *p)
{
    json_t *j = json_pack("{s:s,s:o,s:s,s:o,s:s,s:b}", "schedule", k->name, "next",
                          admin_moment(k->n_next > 0 ? k->next_ms[0] : 0), "outcome",
                          tick_outcome_word(k->outcome), "last",
                          admin_moment(k->outcome != TICK_NONE ? k->last_ms : 0), "why", k->why, "paused", k->paused);

    if (j != NULL && k->state != TASK_FREE)
        (void)json_object_update_new(
            j, json_pack("{s:o,s:s}", "id",
                         json_sprintf("%u-%llu", p->st.part, (unsigned long long)k->no), "state",
                         task_state_word((enum task_state)k->state)));
    return j;
}

uint64_t task_key_has(const json_t *key)
{
    return (uint64_t)(json_integer_value(json_object_get(key, "waiting")) +
                      json_integer_value(json_object_get(key, "dead")));
}

/* ---- refusals -------------------------------------------------------------------- */

const char *task_do_word(enum task_do verb)
{
    static const char *const words[DO_NVERBS] = {
        [DO_LOOK] = "look",           [DO_LIST] = "list",
        [DO_KEYS] = "keys",           [DO_CANCEL] = "cancel",
        [DO_RUN] = "run",             [DO_REDRIVE] = "redrive",
        [DO_DISCARD] = "discard",     [DO_CANCEL_ALL] = "cancel",
        [DO_REDRIVE_ALL] = "redrive", [DO_REDRIVE_STOP] = "stop",
        [DO_DISCARD_ALL] = "discard", [DO_CANCEL_LABEL] = "cancel",
        [DO_SCHEDULES] = "schedules", [DO_RUN_SCHEDULE] = "run",
        [DO_FIRST] = "first",         [DO_EXPORT] = "export",
        [DO_BODY] = "payload",        [DO_RESUBMIT] = "redrive",
        [DO_SCHEDULE] = "schedule",   [DO_PUT_SCHEDULE] = "define",
        [DO_DROP_SCHEDULE] = "delete", [DO_NAMED] = "list",
    };

    return words[verb];
}

/* Why not, by the state that it is in. */
static void conflict(struct admin_ans *a, enum task_do verb, const struct msg_task_get_ans *m,
                     const struct mng_part_view *p)
{
    enum task_state s = m != NULL ? (enum task_state)m->state : TASK_FREE;
    const char *is = task_state_word(s), *hint = "";

    if (verb == DO_RUN_SCHEDULE) {
        admin_problem(a, 409, "conflict", "no task was made: the newest one is not over (overlap), or "
                      "it cannot be made as it is defined");
        return;
    }
    if (verb == DO_RUN && p->paused) {
        admin_problem(a, 409, "conflict", "pool %s is paused: resume it first", p->pool);
        return;
    }
    if (verb == DO_REDRIVE)
        hint = "only a dead one is redriven";
    else if (verb == DO_RESUBMIT && task_state_is_final(s))
        hint = "its group is sealed, and takes no more";
    else if (verb == DO_RESUBMIT)
        hint = "only of one that is over another one is made; cancel it first";
    else if (verb == DO_DISCARD && task_state_is_final(s))
        hint = "a worker may still have it: it is discarded when its lease has ended";
    else if (verb == DO_DISCARD)
        hint = "only one that is over is discarded; cancel it first";
    else if (s == TASK_DEAD)
        hint = "redrive it, or discard it";
    else if (task_state_is_final(s))
        hint = "it is over";
    else if (verb == DO_RUN)
        hint = is_call(p) ? "the call is under way" : "a worker has it";
    admin_problem(a, 409, "conflict", "the task is %s: %s", is, hint);
}

void task_refused(struct admin_ans *a, enum task_do verb, uint8_t code,
                  const struct msg_task_get_ans *m, const struct mng_part_view *p)
{
    if (code == CODE_UNKNOWN)
        admin_problem(a, 404, "task_unknown", "unknown task: over and no longer kept, or never there");
    else if (code == CODE_CONFLICT)
        conflict(a, verb, m, p);
    else if (code == CODE_FULL)
        admin_problem(a, 409, "queue_full", "its queue has no room for it now");
    else if (code == CODE_INVALID && verb == DO_RUN)
        admin_problem(a, 409, "conflict", "its pool's order is strict: another one is before it");
    else if (code == CODE_INVALID && verb == DO_RESUBMIT && m != NULL)
        admin_problem(a, 409, "conflict", "it has %llu units: more than max_cost of pool %s",
                      (unsigned long long)own_cost(&m->own), p->pool);
    else if (code == CODE_INVALID)
        admin_problem(a, 503, "queue_unavailable", "task node %s does not know this order: it is "
                      "of an older release", p->node);
    else
        admin_problem(a, 503, "queue_unavailable", "task node %s cannot do it now (%s); try again",
                      p->node, code == CODE_STALE ? "the partition is being opened"
                                                  : "nothing can be written");
}
