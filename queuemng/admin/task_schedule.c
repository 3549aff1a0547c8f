/* task_schedule.c: see task_schedule.h. As at a router, a definition stands in the queue's own pool, and is deleted
 * where older pools have one of its name. */
#include "queuemng/admin/task_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/recur/zones.h"
#include "common/submit/submission.h"
#include "queuemng/admin/schedule_text.h"
#include "queuemng/admin/task_json.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/pool_def.h"

#define TICKS 3 /* without ?n= */

static json_t *tick_json(int64_t at_ms, const struct zone *z)
{
    int32_t offset = 0;
    char date[40] = "", zone[8] = "Z";
    time_t local;
    struct tm tm;

    if (!zone_offset(z, at_ms / 1000, &offset))
        offset = 0;
    local = (time_t)(at_ms / 1000 + offset);
    (void)strftime(date, sizeof(date), "%FT%T", gmtime_r(&local, &tm));
    if (offset != 0)
        snprintf(zone, sizeof(zone), "%c%02d:%02d", offset < 0 ? '-' : '+', abs(offset) / 3600 % 24,
                 abs(offset) / 60 % 60);
    return json_pack("{s:o,s:o}", "at", admin_moment(at_ms), "local", json_sprintf("%s%s", date, zone));
}

static json_t *ticks_json(const int64_t *at_ms, uint32_t n, const char *zone)
{
    const struct zone z = { &system_zones, zone };
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++)
        (void)json_array_append_new(list, tick_json(at_ms[i], &z));
    return list;
}

static json_t *row_json(const struct walk *w, const struct schedule_row *row, const struct mng_part_view *p)
{
    json_t *j = task_schedule_json(row, p), *def;
    const char *zone;

    def = schedule_definition(row, w->q.tokens);
    zone = json_string_value(json_object_get(def, "zone"));
    if (j != NULL)
        (void)json_object_update_new(
            j, json_pack("{s:s,s:o,s:I,s:o}", "queue", w->q.queue, "ticks",
                         ticks_json(row->next_ms, row->n_next, zone != NULL ? zone : ""), "version",
                         (json_int_t)schedule_version(row->text.p, row->text.n), "definition", def));
    return j;
}

static void answer_row(struct admin_ans *a, int status, json_t *row)
{
    snprintf(a->etag_buf, sizeof(a->etag_buf), "\"%llu\"",
             (unsigned long long)json_integer_value(json_object_get(row, "version")));
    a->etag = a->etag_buf;
    admin_json(a, status, row);
}

/* ---- a definition that is asked for -------------------------------------------------- */

/* w->form, a definition, becomes the message that defines it. False: the answer says why not. */
static bool pack(const struct mng *m, struct walk *w, const struct mng_part_view *p, struct admin_ans *a)
{
    const struct pool_def *pool = mng_defined(m, DEF_POOL, p->pool, NULL);
    const struct endpoint_def *e = mng_defined(m, DEF_ENDPOINT, p->endpoint, NULL);
    const struct schedule_place at = {
        .queue = w->q.queue, .name = w->q.key1, .pool = p->pool, .endpoint = p->endpoint,
        .cost = e != NULL ? endpoint_cost_rule(e) : (struct cost_rule){ .pointer = "" },
        .max_body = pool != NULL ? pool->max_body : 0, .max_cost = pool != NULL ? pool->max_cost : 0,
    };
    struct schedule_refusal no;
    struct buf out;
    int rc;

    buf_init(&out);
    rc = schedule_pack(&out, &at, (struct slice){ (char *)w->form.data, w->form.len }, &no);
    buf_fini(&w->form);
    w->form = out;
    if (rc < 0)
        admin_problem(a, no.status, no.status == 413 ? "payload_too_large" : no.status == 503 ? "queue_unavailable"
                      : "bad_request", "schedule %s: %s", w->q.key1, no.text);
    return rc == 0;
}

/* Members of a change, in w->form. An operator may pause and resume, and no more: the table of routes has read the
 * body in another way. */
static bool is_patch(struct admin_call *c, struct walk *w)
{
    bool only_paused;
    const char *why = schedule_patch_wrong((struct slice){ (char *)w->form.data, w->form.len }, &only_paused);

    if (why != NULL)
        admin_problem(c->a, 400, "bad_request", "schedule %s: %s", w->q.key1, why);
    else if (c->who->role < ROLE_ADMIN && !only_paused)
        admin_problem(c->a, 403, "forbidden", "an operator changes paused of a schedule; the rest is an admin's");
    else
        return true;
    return false;
}

static bool begin(struct admin_call *c, struct walk *w)
{
    struct mng_part_view p;

    buf_append(&w->form, w->q.bytes.p, w->q.bytes.n);
    if (w->form.failed) {
        admin_problem(c->a, 503, "queue_unavailable", "out of memory");
        return false;
    }
    w->wants_old = w->q.patches;
    if (w->q.patches)
        return is_patch(c, w);
    w->wants_old = w->q.version != 0 && w->n > 1; /* an older pool may have it */
    return w->wants_old || (mng_part(c->s->mng, w->part[0], &p) && pack(c->s->mng, w, &p, c->a));
}

/* ---- answers ------------------------------------------------------------------------- */

/* All partitions have answered. */
static bool is_whole(const struct walk *w)
{
    return w->i == w->n && json_array_size(w->away) == 0;
}

static void unknown(const struct walk *w, struct admin_ans *a)
{
    const char *node = json_string_value(json_object_get(json_array_get(w->away, 0), "node"));

    if (is_whole(w))
        admin_problem(a, 404, "schedule_unknown", "queue %s has no schedule %s", w->q.queue, w->q.key1);
    else
        admin_problem(a, 503, "queue_unavailable", "task node %s, which may have it, is away, or slow",
                      node != NULL && node[0] != '\0' ? node : "(not known now)");
}

static void left(const struct walk *w, struct admin_ans *a)
{
    admin_problem(a, 503, "queue_unavailable", "schedule %s is %s, but a task node with tasks of an older pool, which may "
                  "have one of its name, did not answer: ask again", w->q.key1,
                  w->q.verb == DO_PUT_SCHEDULE ? "defined" : "deleted where nodes are up");
}

/* Refuses a change that is for another version. */
static void is_other(const struct walk *w, const struct msg_task_do_ans *m, struct admin_ans *a)
{
    if (w->q.version == SCHEDULE_ABSENT)
        admin_problem(a, 412, "conflict", "schedule %s exists already; PATCH changes it (segqctl task schedules set)",
                      w->q.key1);
    else if (m->n_schedules == 0)
        admin_problem(a, 412, "conflict", "queue %s has no schedule %s any more; without If-Match, PUT makes it",
                      w->q.queue, w->q.key1);
    else
        admin_problem(a, 412, "conflict", "schedule %s was changed meanwhile: look at it again", w->q.key1);
}

static void refused(const struct walk *w, const struct mng_part_view *p, const struct msg_task_do_ans *m,
                    struct admin_ans *a)
{
    const char *why = m->why != NULL ? m->why : "";

    if (m->code == CODE_CONFLICT)
        is_other(w, m, a);
    else if (m->code == CODE_INVALID && why[0] != '\0')
        admin_problem(a, 400, "bad_request", "schedule %s: %s", w->q.key1, why);
    else if (m->code == CODE_FULL)
        admin_problem(a, 409, "conflict", "%s", why[0] != '\0' ? why : "there are 1000 schedules in this partition: "
                      "delete some");
    else
        task_refused(a, w->q.verb, m->code, NULL, p);
}

/* Notes what has changed, from what to what, in the operators' log. */
static json_t *note(struct walk *w, const struct schedule_row *was, const struct schedule_row *is)
{
    json_t *list = schedule_changes(was, is);

    (void)json_object_set(w->entry, "changes", list);
    return list;
}

/* Asks the next older pool; after the last one the answer is given. */
static void go_on(struct mng_service *s, struct walk *w)
{
    if (walk_ask_next(s, w))
        return;
    if (!is_whole(w))
        left(w, walk_held(w));
    else
        answer_row(walk_held(w), w->status, json_incref(json_array_get(w->rows, 0)));
    walk_finish(s, w);
}

/* The definition stands: what older pools have of its name goes. */
static void defined(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                    const struct msg_task_do_ans *m)
{
    const struct schedule_row found = { .text = { (uint32_t)w->old.len, w->old.data } };
    const struct schedule_row *was = m->n_schedules > 1 ? &m->schedules[1] : w->old.len > 0 ? &found : NULL;
    json_t *row;

    if ((m->code != CODE_DONE && m->code != CODE_SAME) || m->n_schedules == 0) {
        refused(w, p, m, walk_held(w));
        walk_finish(s, w);
        return;
    }
    row = row_json(w, &m->schedules[0], p);
    (void)json_object_set_new(row, "changes", note(w, was, &m->schedules[0]));
    (void)json_array_append_new(w->rows, row);
    w->status = was != NULL ? 200 : 201;
    w->in_older = true;
    walk_next_part(w);
    go_on(s, w);
}

/* Asks the queue's own pool for what is in w->form, if it has the version. False: the answer says why not. */
static bool ask_own(struct mng_service *s, struct walk *w, uint64_t version)
{
    struct mng_part_view p = { .node = "" };

    w->q.version = version;
    w->i = 0;
    w->wants_old = false;
    if (w->form.failed || w->old.failed || !mng_part(s->mng, w->part[0], &p)) {
        walk_away(s->mng, w, walk_held(w));
        return false;
    }
    if (!pack(s->mng, w, &p, walk_held(w)))
        return false;
    if (walk_ask_this(s, w))
        return true;
    walk_away(s->mng, w, walk_held(w));
    return false;
}

/* Changes what was found, in the queue's own pool. False: the answer says why not. */
static bool change(struct mng_service *s, struct walk *w, const struct schedule_row *row)
{
    uint64_t version = schedule_version(row->text.p, row->text.n);
    const struct msg_task_do_ans found = { .code = CODE_CONFLICT, .n_schedules = 1 };
    struct buf out;

    if (w->q.version != 0 && w->q.version != version) {
        is_other(w, &found, walk_held(w));
        return false;
    }
    buf_append(&w->old, row->text.p, row->text.n); /* perhaps in an older pool */
    if (w->q.patches) {
        buf_init(&out);
        schedule_merge(&out, row, (struct slice){ (char *)w->form.data, w->form.len });
        buf_fini(&w->form);
        w->form = out;
    }
    return ask_own(s, w, w->i == 0 ? version : SCHEDULE_ABSENT);
}

/* Defines what was found nowhere, if that was asked for. False: the answer is there. */
static bool make(struct mng_service *s, struct walk *w)
{
    const struct msg_task_do_ans none = { .code = CODE_CONFLICT };

    if (w->q.verb == DO_SCHEDULE || w->q.patches || !is_whole(w))
        unknown(w, walk_held(w));
    else if (w->q.version == SCHEDULE_ABSENT)
        return ask_own(s, w, SCHEDULE_ABSENT);
    else
        is_other(w, &none, walk_held(w));
    return false;
}

/* Goes on looking, in one partition after the other. */
static void looked(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                   const struct msg_task_do_ans *m)
{
    if (m->code == CODE_DONE && m->n_schedules > 0) {
        if (w->wants_old && change(s, w, &m->schedules[0]))
            return;
        if (w->q.verb == DO_SCHEDULE)
            answer_row(walk_held(w), 200, row_json(w, &m->schedules[0], p));
        walk_finish(s, w);
        return;
    }
    if (m->code == CODE_UNKNOWN)
        walk_next_part(w);
    else if (m->code == CODE_INVALID) {
        refused(w, p, m, walk_held(w)); /* an older release */
        walk_finish(s, w);
        return;
    } else {
        walk_skip(w, p);
    }
    if (walk_ask_next(s, w) || make(s, w))
        return;
    walk_finish(s, w);
}

static void answer_dropped(struct walk *w)
{
    json_t *list = json_object_get(w->entry, "changes");

    if (w->done == 0)
        unknown(w, walk_held(w));
    else if (!is_whole(w))
        left(w, walk_held(w));
    else
        admin_json(walk_held(w), 200, json_pack("{s:s,s:s,s:O?,s:O?}", "queue", w->q.queue, "schedule",
                                                w->q.key1, "changes", list, "definition", json_array_get(w->rows, 0)));
}

/* Deletes it in every partition that may have it. */
static void dropped(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                    const struct msg_task_do_ans *m)
{
    bool absent = m->code == CODE_UNKNOWN || (m->code == CODE_CONFLICT && m->n_schedules == 0);

    if (m->code == CODE_DONE && m->n_schedules > 0 && w->done++ == 0) {
        json_decref(note(w, &m->schedules[0], NULL));
        (void)json_array_append_new(w->rows, schedule_definition(&m->schedules[0], w->q.tokens));
        w->q.version = 0; /* in older pools in any case */
    }
    if ((m->code == CODE_CONFLICT && !absent) || (m->code == CODE_INVALID && w->done == 0)) {
        refused(w, p, m, walk_held(w)); /* INVALID: an older release */
        walk_finish(s, w);
        return;
    }
    if (m->code == CODE_DONE || absent)
        walk_next_part(w);
    else
        walk_skip(w, p);
    if (walk_ask_next(s, w))
        return;
    answer_dropped(w);
    walk_finish(s, w);
}

static void dropped_older(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                          const struct msg_task_do_ans *m)
{
    if (m->code == CODE_DONE || m->code == CODE_UNKNOWN)
        walk_next_part(w);
    else
        walk_skip(w, p);
    go_on(s, w);
}

static void answered(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                     const struct msg_task_do_ans *m)
{
    if (w->in_older)
        dropped_older(s, w, p, m);
    else if (w->wants_old || w->q.verb == DO_SCHEDULE)
        looked(s, w, p, m);
    else if (w->q.verb == DO_DROP_SCHEDULE)
        dropped(s, w, p, m);
    else
        defined(s, w, p, m);
}

static const struct walk_special special = { begin, answered, unknown, left };

/* ---- requests ------------------------------------------------------------------------ */

/* The version of If-Match; a tag that is none of ours is that of none. */
static uint64_t version_of(const char *tag)
{
    char *end;
    unsigned long long v;

    if (tag[0] == '\0' || strcmp(tag, "*") == 0)
        return 0;
    v = tag[0] == '"' ? strtoull(tag + 1, &end, 10) : 0;
    return v > SCHEDULE_ABSENT && strcmp(end, "\"") == 0 ? v : UINT64_MAX;
}

void admin_schedule(struct admin_call *c, const struct schedule_path *k)
{
    const char *m = c->q->method;
    struct task_ask q = {
        .verb = k->order[0] != '\0' ? DO_RUN_SCHEDULE : strcmp(m, "GET") == 0 ? DO_SCHEDULE
                : strcmp(m, "DELETE") == 0 ? DO_DROP_SCHEDULE : DO_PUT_SCHEDULE,
        .special = &special, .most = UINT32_MAX, .patches = strcmp(m, "PATCH") == 0, .version = version_of(c->q->if_match),
        .bytes = { (char *)(uintptr_t)c->q->body, c->q->body_len },
    };

    copy_text(q.queue, sizeof(q.queue), k->queue);
    copy_text(q.key1, sizeof(q.key1), k->name);
    if (strcmp(m, "PUT") == 0 && strcmp(c->q->if_none_match, "*") == 0)
        q.version = SCHEDULE_ABSENT;
    if (q.verb == DO_PUT_SCHEDULE && !schedule_name_ok((struct slice){ q.key1, strlen(q.key1) }))
        admin_problem(c->a, 400, "bad_request", "name: a schedule's has letters, digits, and _ - . behind the first, "
                      "%d at most", SCHEDULE_NAME_MAX);
    else
        task_walk(c, &q);
}

/* ---- when one would fire ------------------------------------------------------------- */

/* The definition that the query says, as JSON text. */
static char *definition_of(const struct admin_call *c)
{
    static const char *const names[] = { "cron", "every", "zone", "from", "until" };
    json_t *j = json_pack("{s:{}}", "task");
    char text[CRON_TEXT_MAX + 2], *out;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *end;
        double v;

        if (!admin_query(c->q->query, names[i], text, sizeof(text)) || text[0] == '\0')
            continue;
        v = strtod(text, &end);
        (void)json_object_set_new(j, names[i], i > 2 && *end == '\0' ? json_real(v) : json_string(text));
    }
    out = json_dumps(j, JSON_COMPACT);
    json_decref(j);
    return out;
}

static uint32_t next_ticks(const struct schedule_body *b, const char *zone, int64_t now_ms, uint32_t n, int64_t *at)
{
    struct recur r = { .every_ms = b->every, .from_ms = b->from, .until_ms = b->until };
    const struct zone z = { &system_zones, zone };
    char text[CRON_TEXT_MAX + 1];
    struct cron_error ce;
    uint32_t i = 0;

    *text_put(text, b->cron.p, b->cron.n) = '\0';
    if (b->cron.n > 0 && !cron_read(&r.cron, text, &ce)) /* schedule_body_read() has */
        return 0;
    for (at[0] = recur_next(&r, &z, now_ms); i < n && at[i] != RECUR_NEVER; i++)
        at[i + 1] = recur_next(&r, &z, at[i]);
    return i;
}

void admin_ticks(struct admin_call *c)
{
    uint32_t n = (uint32_t)admin_number(c, "n", SCHEDULE_NEXT_MAX, TICKS);
    int64_t at[SCHEDULE_NEXT_MAX + 1];
    struct schedule_body b;
    struct body_error e;
    char zone[ZONE_NAME_MAX + 1], *text = n > 0 ? definition_of(c) : NULL;
    int32_t offset;

    if (n == 0)
        return;
    if (text == NULL) {
        admin_problem(c->a, 503, "queue_unavailable", "out of memory");
        return;
    }
    if (!schedule_body_read(&b, (struct slice){ text, strlen(text) }, TICK_MEMBERS, &e)) {
        admin_problem(c->a, 400, "bad_request", "%s", e.text);
    } else {
        *text_put(zone, b.zone.p, b.zone.n) = '\0';
        if (!zone_offset(&(struct zone){ &system_zones, zone }, 0, &offset))
            admin_problem(c->a, 400, "bad_request", "zone: there is no %s here", zone);
        else
            admin_json(c->a, 200, json_pack("{s:o}", "ticks", ticks_json(at, next_ticks(&b, zone, ev_wall_ms(c->s->ev), n, at), zone)));
    }
    free(text);
}
