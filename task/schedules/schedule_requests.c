/* schedule_requests.c: see schedule_requests.h. */
#include "task/schedules/schedule_requests.h"

#include <string.h>

#include "common/submit/submission.h"
#include "common/task/rules.h"
#include "common/wire/codec.h"

static struct task_schedule *find(const struct schedules *s, const struct msg_task_schedule *q)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i]->def->name, q->name) == 0 && strcmp(s->v[i]->def->queue, q->queue) == 0)
            return s->v[i];
    return NULL;
}

/* ---- put --------------------------------------------------------------------------------- */

/* A sentence; NULL: it can be. Routers say the same before they ask, but for the zone. */
static const char *wrong(const struct schedules *s, const struct msg_task_schedule *q,
                         struct arena *mem)
{
    struct zone z = { s->zones, q->zone };
    struct recur r = { .every_ms = q->every_ms, .from_ms = q->from_ms, .until_ms = q->until_ms };
    struct cron_error e;
    int32_t offset;

    if (q->queue[0] == '\0' || q->name[0] == '\0' || strlen(q->name) > SCHEDULE_NAME_MAX)
        return "impossible name";
    if ((q->cron[0] != '\0') == (q->every_ms != 0))
        return "a schedule needs cron or every";
    if (q->cron[0] != '\0' && !cron_read(&r.cron, q->cron, &e))
        return arena_strdup(mem, e.text);
    if (q->catch_up == CATCH_UP_ALL && q->catch_up_max == 0)
        return "nothing is made up for";
    if (q->zone[0] != '\0' && (!zone_name_ok(q->zone) || !zone_offset(&z, 0, &offset)))
        return "zone: this one is not known: is tzdata installed where task nodes run?";
    return recur_wrong(&r);
}

/* Makes the text that is kept: all but the way that it came. */
static int encode(const struct msg_task_schedule *q, struct buf *to)
{
    struct msg m = { .type = MSG_TASK_SCHEDULE, .task_schedule = *q };

    m.task_schedule.part = 0;
    m.task_schedule.epoch = 0;
    m.task_schedule.put.part = 0;
    m.task_schedule.put.epoch = 0;
    return msg_encode(&m, to);
}

static bool is_same(const struct task_schedule *k, const struct buf *b)
{
    return k != NULL && k->bytes.len == b->len && memcmp(k->bytes.data, b->data, b->len) == 0;
}

/* Do n bytes fit in place of k's (NULL: beside all)? A definition that does not grow fits. */
static bool has_room(const struct schedules *s, const struct task_schedule *k, size_t n)
{
    uint64_t all = n;

    for (uint32_t i = 0; i < s->n; i++)
        all += s->v[i] != k ? s->v[i]->bytes.len : 0;
    return all <= SCHEDULES_BYTES || (k != NULL && n <= k->bytes.len);
}

static uint8_t define(struct schedules *s, const struct msg_task_schedule *q, int64_t wall_ms,
                      const struct buf *bytes, struct buf *log, struct msg_task_schedule_ans *a)
{
    const struct task_schedule *k = find(s, q);
    struct trec r = { .kind = TREC_SCHEDULE, .lo = k != NULL ? k->id : s->next_id,
                      .until = (uint64_t)wall_ms,
                      .name = { (const char *)bytes->data, (uint32_t)bytes->len } };
    int rc;

    if (is_same(k, bytes))
        return CODE_SAME;
    if (k == NULL && s->n >= SCHEDULES_MAX)
        return CODE_FULL; /* routers say the bound */
    if (!has_room(s, k, bytes->len)) {
        a->why = "the definitions of this partition's schedules have 8 MiB: delete some, or make their payloads "
                 "shorter";
        return CODE_FULL;
    }
    a->fresh = k == NULL;
    rc = schedules_perform(s, &r, log);
    return rc == 0 ? CODE_DONE : rc == SQ_ENOMEM ? CODE_BUSY : CODE_INVALID;
}

static void put(struct schedules *s, const struct msg_task_schedule *q, int64_t wall_ms,
                struct buf *log, struct msg_task_schedule_ans *a, struct arena *mem)
{
    const char *why = wrong(s, q, mem);
    struct buf b;

    if (why != NULL) {
        a->code = CODE_INVALID;
        a->why = why;
        return;
    }
    buf_init(&b);
    a->code = encode(q, &b) < 0 ? CODE_BUSY : define(s, q, wall_ms, &b, log, a);
    buf_fini(&b);
}

static void delete(struct schedules *s, const struct msg_task_schedule *q, int64_t wall_ms,
                   struct buf *log, struct msg_task_schedule_ans *a)
{
    const struct task_schedule *k = find(s, q);
    struct trec r = { .kind = TREC_SCHEDULE, .lo = k != NULL ? k->id : 0,
                      .until = (uint64_t)wall_ms };

    if (k == NULL)
        a->code = CODE_UNKNOWN;
    else if (schedules_perform(s, &r, log) < 0)
        a->code = CODE_BUSY;
}

/* ---- looks ------------------------------------------------------------------------------- */

static uint32_t next_ticks(const struct schedules *s, const struct task_schedule *k, uint32_t most,
                           int64_t *v)
{
    struct zone z = { s->zones, k->def->zone };
    int64_t at = k->last_ms;
    uint32_t n = 0;

    while (!k->def->paused && n < most) {
        at = n == 0 && k->next_ms != 0 ? k->next_ms : recur_next(&k->recur, &z, at);
        if (at == RECUR_NEVER)
            break;
        v[n++] = at;
    }
    return n;
}

/* False: no memory. */
static bool tell(const struct schedules *s, const struct schedules_host *h, const struct task_schedule *k,
                 uint32_t next, struct schedule_row *row, struct arena *mem)
{
    struct zone z = { s->zones, k->def->zone };
    int32_t offset;

    *row = (struct schedule_row){ .name = k->def->name, .last_ms = k->last_ms,
                                  .outcome = k->outcome, .fired_ms = k->fired_ms, .no = k->no,
                                  .why = "", .paused = k->def->paused };
    if (k->no != 0)
        row->state = (uint8_t)h->state(h->ctx, k->no);
    if (!zone_offset(&z, 0, &offset))
        row->why = "its zone is not known where its task node runs";
    row->next_ms = arena_array(mem, next, sizeof(*row->next_ms));
    if (row->next_ms != NULL)
        row->n_next = next_ticks(s, k, next, row->next_ms);
    return row->next_ms != NULL;
}

static void look(const struct schedules *s, const struct schedules_host *h,
                 const struct msg_task_schedule *q, struct msg_task_schedule_ans *a,
                 struct arena *mem)
{
    const struct task_schedule *k = find(s, q);

    a->v = k != NULL ? arena_alloc(mem, sizeof(*a->v)) : NULL;
    if (k == NULL) {
        a->code = CODE_UNKNOWN;
    } else if (a->v == NULL || !tell(s, h, k, SCHEDULE_NEXT_MAX, a->v, mem)) {
        a->code = CODE_BUSY;
    } else {
        a->v->text = k->def->text;
        a->n = 1;
    }
}

static void run(struct schedules *s, const struct schedules_host *h,
                const struct msg_task_schedule *q, struct buf *log, struct msg_task_schedule_ans *a)
{
    struct task_schedule *k = find(s, q);
    enum schedule_run ran;
    int rc;

    if (k == NULL)
        return; /* the look says so */
    if (q->put.key.n > TASK_IDEM_MAX) {
        a->code = CODE_INVALID;
        return;
    }
    rc = schedules_run(s, k, h, q->put.key, &ran, &a->ran_no, log);
    if (rc == 0) {
        a->ran = (uint8_t)ran;
    } else if (rc == SQ_ECONFLICT || rc == SQ_EHELD || rc == SQ_EINVAL) {
        a->code = CODE_INVALID;
        a->why = "its task cannot be made as it is defined";
    } else {
        a->code = CODE_BUSY;
    }
}

static void list(const struct schedules *s, const struct schedules_host *h,
                 const struct msg_task_schedule *q, struct msg_task_schedule_ans *a,
                 struct arena *mem)
{
    a->v = arena_array(mem, s->n, sizeof(*a->v));
    for (uint32_t i = 0; a->v != NULL && i < s->n && a->n < SCHEDULES_MAX; i++)
        if (strcmp(s->v[i]->def->queue, q->queue) == 0 && tell(s, h, s->v[i], 1, &a->v[a->n], mem))
            a->n++;
    if (mem->failed) {
        a->n = 0;
        a->code = CODE_BUSY;
    }
}

void schedules_ask(struct schedules *s, const struct schedules_host *h,
                   const struct msg_task_schedule *q, int64_t wall_ms, struct buf *log,
                   struct msg_task_schedule_ans *a, struct arena *mem)
{
    *a = (struct msg_task_schedule_ans){ .code = CODE_DONE, .why = "" };
    switch ((enum schedule_verb)q->verb) {
    case SCHEDULE_PUT:
        put(s, q, wall_ms, log, a, mem);
        break;
    case SCHEDULE_GET:
        if (q->run)
            run(s, h, q, log, a);
        if (a->code == CODE_DONE)
            look(s, h, q, a, mem);
        break;
    case SCHEDULE_LIST:
        list(s, h, q, a, mem);
        break;
    default:
        delete(s, q, wall_ms, log, a);
        break;
    }
}

/* ---- operators' questions ---------------------------------------------------------------- */

/* Appends it as it is, in memory of the answer's own. UNKNOWN: it is not there. */
static uint8_t tell_one(const struct schedules *s, const struct schedules_host *h,
                        const struct msg_task_schedule *q, struct msg_task_do_ans *m, struct arena *mem)
{
    struct schedule_row *row = &m->schedules[m->n_schedules];
    struct msg_task_schedule_ans a = { .code = CODE_DONE };

    look(s, h, q, &a, mem);
    if (a.code != CODE_DONE)
        return a.code;
    *row = *a.v;
    row->name = arena_strdup(mem, row->name);
    if (row->text.n > 0)
        row->text.p = arena_memdup(mem, row->text.p, row->text.n);
    if (mem->failed)
        return CODE_BUSY;
    m->n_schedules++;
    return CODE_DONE;
}

/* False: *k is none, or another one than the question is about. */
static bool read_put(const struct msg_task_do *q, struct msg_task_schedule *k, struct arena *mem)
{
    struct msg *m = arena_alloc(mem, sizeof(*m));

    if (m == NULL || msg_decode(MSG_TASK_SCHEDULE, q->body.p, q->body.n, mem, m) < 0)
        return false;
    *k = m->task_schedule;
    return k->verb == SCHEDULE_PUT && strcmp(k->queue, q->queue) == 0 && strcmp(k->name, q->key1) == 0;
}

/* Carries the change out, of one that is at the version that was asked for. */
static void change(struct schedules *s, const struct schedules_host *h, const struct msg_task_do *q, int64_t wall_ms,
                   struct buf *log, struct msg_task_do_ans *m, struct arena *mem)
{
    struct msg_task_schedule k = { .verb = SCHEDULE_DELETE, .queue = q->queue, .name = q->key1 };
    struct msg_task_schedule_ans a;

    if (q->verb == DO_PUT_SCHEDULE && !read_put(q, &k, mem)) {
        m->code = mem->failed ? CODE_BUSY : CODE_INVALID;
        return;
    }
    schedules_ask(s, h, &k, wall_ms, log, &a, mem);
    m->code = a.code;
    m->why = a.why;
    if (q->verb == DO_DROP_SCHEDULE || (a.code != CODE_DONE && a.code != CODE_SAME))
        return;
    if (m->n_schedules > 0)
        m->schedules[1] = m->schedules[0]; /* the old definition */
    m->n_schedules = 0;
    if (tell_one(s, h, &k, m, mem) != CODE_DONE)
        m->code = CODE_BUSY; /* done: who asks again is told so */
    else if (!a.fresh)
        m->n_schedules = 2;
}

void schedules_do(struct schedules *s, const struct schedules_host *h, const struct msg_task_do *q, int64_t wall_ms,
                  struct buf *log, struct msg_task_do_ans *m, struct arena *mem)
{
    const struct msg_task_schedule k = { .verb = SCHEDULE_GET, .queue = q->queue, .name = q->key1 };
    uint64_t version = SCHEDULE_ABSENT;

    m->schedules = arena_array(mem, 2, sizeof(*m->schedules));
    m->code = m->schedules != NULL ? tell_one(s, h, &k, m, mem) : CODE_BUSY;
    if (m->code == CODE_BUSY || q->verb == DO_SCHEDULE)
        return;
    if (m->code == CODE_DONE)
        version = schedule_version(m->schedules->text.p, m->schedules->text.n);
    if (q->version != 0 && q->version != version)
        m->code = CODE_CONFLICT;
    else
        change(s, h, q, wall_ms, log, m, mem);
}
