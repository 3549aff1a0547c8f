/* long_answers.c: see long_answers.h. */
#include "task/service/long_answers.h"

#include <stdio.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/metrics.h"
#include "task/bodies/answers.h"
#include "task/bodies/large.h"
#include "task/service/service.h"

#define DIR_MAX 600

static int make_dir(char dir[static DIR_MAX], const struct task_cfg *c, struct err *e)
{
    bool own = c->answers_dir[0] != 0;
    int n = snprintf(dir, DIR_MAX, own ? "%s/%s" : "%s/%s/answers",
                     own ? c->answers_dir : c->bodies_dir, c->node.node);

    if (n >= DIR_MAX)
        return err_set(e, SQ_ETOOBIG, "%s: too long", own ? "answers_dir" : "bodies_dir");
    return own ? file_make_dir(c->answers_dir, 0750, e) : 0;
}

int whole_open(struct task_service *s, const struct task_cfg *c, struct err *e)
{
    bool redis = c->store == STORE_REDIS;
    char dir[DIR_MAX];
    int rc;

    if (redis && c->answers_dir[0] == 0)
        return 0;
    rc = make_dir(dir, c, e);
    if (rc == 0 && (redis || c->answers_max_bytes == 0)) /* earlier ones go */
        rc = answers_open(&s->answers, dir, 0, 0, e);
    answers_close(s->answers);
    s->answers = NULL;
    return rc < 0 || c->answers_max_bytes == 0
               ? rc : answers_open(&s->answers, dir, (uint64_t)c->answers_max_bytes, 0, e);
}

int large_begin(struct task_service *s, const struct task_cfg *c, struct err *e)
{
    char dir[DIR_MAX];

    if (c->store == STORE_REDIS || c->large_bodies_max_bytes == 0)
        return 0;
    if (snprintf(dir, DIR_MAX, "%s/%s/large", c->bodies_dir, c->node.node) >= DIR_MAX)
        return err_set(e, SQ_ETOOBIG, "bodies_dir: too long");
    return large_open(&s->large, dir, (uint64_t)c->large_bodies_max_bytes, c->node.journal == JOURNAL_FSYNC, e);
}

/* ---- in ----------------------------------------------------------------------------------- */

bool whole_is_wanted(const struct going_call *g)
{
    return g->sender->s->answers != NULL && g->max_result > 0 &&
           g->endpoint->def.max_answer > g->max_result;
}

static void cut(struct going_call *g)
{
    g->whole = NULL;
    g->cut = true;
}

/* Descriptors for files of answers: beside those of its calls, and some that are left for links. */
static size_t files_most(const struct calls *c)
{
    size_t most = c->most < SIZE_MAX / 2 ? c->most + c->most / 12 : SIZE_MAX;

    return most > c->going.n ? most - c->going.n : 0;
}

void whole_more(void *arg, const void *p, size_t n)
{
    struct going_call *g = arg;
    struct task_service *s = g->sender->s;

    if (g->cut)
        return;
    g->length += n;
    if (g->length > g->endpoint->def.max_answer) {
        s->n.too_long++;
        whole_give_up(g);
        cut(g);
        return;
    }
    if (g->whole == NULL && (g->whole = answers_begin(s->answers, files_most(&s->caller.calls))) == NULL)
        cut(g);
    else if (!answers_add(g->whole, p, n))
        cut(g);
}

void whole_give_up(struct going_call *g)
{
    answers_give_up(g->whole);
    g->whole = NULL;
}

void whole_ends(struct going_call *g, const struct call_answer *a)
{
    struct task_service *s = g->sender->s;
    struct answer_id id = { .part = g->part, .no = g->no, .length = a->length };

    if (s->answers == NULL)
        return;
    if (a->fault != CALL_NONE || a->goes_on || g->verdict.kind == VERDICT_PENDING) {
        whole_give_up(g);
    } else if (g->whole == NULL) {
        answers_drop(s->answers, g->part, g->no);
    } else {
        memcpy(id.sha256, a->sha256, sizeof(id.sha256));
        (void)!answers_keep(g->whole, &id); /* then it is cut */
        g->whole = NULL;
    }
}

/* ---- out ---------------------------------------------------------------------------------- */

static bool have(void *ctx, part_no part, task_no no, uint64_t length, const uint8_t *sha256)
{
    struct answer_id id = { .part = part, .no = no, .length = length };

    memcpy(id.sha256, sha256, sizeof(id.sha256));
    return answers_have(ctx, &id);
}

static int64_t read_some(void *ctx, const struct msg_task_read *q, uint8_t *p, size_t n)
{
    struct answer_id id = { .part = q->part, .no = q->no };

    memcpy(id.sha256, q->sha256.p, sizeof(id.sha256));
    return answers_read(ctx, &id, q->at, p, n);
}

/* The file, if there is one, has all that has come, the first bytes, too. */
static int64_t so_far(const struct going_call *g, uint64_t at, uint8_t *p, size_t n)
{
    const uint8_t *first;
    size_t have;

    if (g->sending == NULL)
        return 0;
    if (g->whole != NULL)
        return answers_peek(g->whole, at, p, n);
    first = out_first(g->sending, &have);
    if (at >= have)
        return 0;
    n = (size_t)u64_min(n, have - at);
    memcpy(p, first + at, n);
    return (int64_t)n;
}

struct tab_answers whole_table(const struct task_service *s)
{
    return s->answers != NULL ? (struct tab_answers){ have, read_some, s->answers, so_far }
                              : (struct tab_answers){ .so_far = so_far };
}

static enum answer_life lives(void *ctx, uint32_t part, task_no no)
{
    struct task_service *s = ctx;

    s->n.left += !tasktab_has_part(s->tab, part);
    return tasktab_has_task(s->tab, part, no) ? ANSWER_LIVES : ANSWER_DEAD;
}

static enum answer_life needs_body(void *ctx, uint32_t part, task_no no)
{
    return large_life(tasktab_state_of(((const struct task_service *)ctx)->tab, part, no));
}

void whole_tick(struct task_service *s)
{
    if (s->large != NULL)
        large_step(s->large, ev_now(s->node.ev), needs_body, s);
    if (s->answers != NULL)
        answers_step(s->answers, ev_now(s->node.ev), lives, s);
}

/* ---- figures ------------------------------------------------------------------------------ */

#define ROW_OF struct answers_counts
#define ROW(name, kind, member, help) METRIC_ROW("segq_task_answers" name, kind, ROW_OF, member, help)
static const struct metric_row rows[] = {
    ROW("", GAUGE, files, "Answers of calls that are kept whole beside their results"),
    ROW("_bytes", GAUGE, bytes, "Their bytes on the disk, with those that are coming"),
    ROW("_kept_total", COUNTER, kept, "Answers that were kept whole"),
    ROW("_read_bytes_total", COUNTER, read, "Bytes of them that routers have read"),
    ROW("_made_room_total", COUNTER, made_room,
        "Answers that were read, and went before their task, to make room"),
};
#undef ROW
#undef ROW_OF

#define ROW_OF struct large_counts
#define ROW(name, kind, member, help) METRIC_ROW("segq_task_large_bodies" name, kind, ROW_OF, member, help)
static const struct metric_row large_rows[] = {
    ROW("", GAUGE, files, "Bodies of calls above 256 KiB, each in a file, with those that are coming"),
    ROW("_bytes", GAUGE, bytes, "Their bytes on the disk"),
    ROW("_max_bytes", GAUGE, max_bytes, "Bytes that they may have: large_bodies_max_bytes"),
    ROW("_kept_total", COUNTER, kept, "Bodies whose calls were submitted"),
    ROW("_given_up_total", COUNTER, given_up, "Bodies that came, and whose calls were not"),
    ROW("_no_room_total", COUNTER, no_room, "Bodies that were refused for want of room"),
    ROW("_lost_total", COUNTER, lost, "Calls that could not be made, since their body was not there"),
    ROW("_failures_total", COUNTER, failures, "Times that their disk failed"),
};
#undef ROW
#undef ROW_OF

void whole_metrics(const struct task_service *s, struct buf *b)
{
    static const char name[] = "segq_task_answers_cut_total";
    const struct answers_counts *n;
    struct large_counts large;

    if (s->large != NULL) {
        large_counts(s->large, &large);
        metrics_rows(b, large_rows, ARRAY_LEN(large_rows), &large);
    }
    if (s->answers == NULL)
        return;
    n = answers_counts(s->answers);
    metrics_rows(b, rows, ARRAY_LEN(rows), n);
    metrics_value(b, "segq_task_answers_left_total", METRIC_COUNTER,
                  "Answers that went since their partition did", (double)s->n.left);
    metrics_head(b, name, METRIC_COUNTER, "Answers of which only the first bytes are kept, by why");
    metrics_u64(b, name, (const char *[]){ "why", "room", NULL }, n->no_room);
    metrics_u64(b, name, (const char *[]){ "why", "disk", NULL }, n->failures);
    metrics_u64(b, name, (const char *[]){ "why", "max_answer", NULL }, s->n.too_long);
}
