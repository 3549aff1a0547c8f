/* answers.c: statuses, bodies and parameters of the admin API. */
#include "queuemng/admin/answers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/process/steps.h"

void admin_json(struct admin_ans *a, int status, json_t *j)
{
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    char *text = j != NULL ? json_dumps(j, flags) : NULL;

    json_decref(j);
    if (text == NULL) {
        admin_problem(a, 503, "queue_unavailable", "out of memory");
        return;
    }
    a->status = status;
    a->content_type = "application/json";
    buf_str(&a->body, text);
    buf_byte(&a->body, '\n');
    free(text);
}

void admin_err(struct admin_ans *a, const struct err *e, const char *unknown)
{
    assert(e->code < 0);
    switch (e->code) {
    case SQ_EUNKNOWN:
        admin_problem(a, 404, unknown, "%s", e->text);
        break;
    case SQ_ECONFLICT:
        admin_problem(a, 409, "conflict", "%s", e->text);
        break;
    case SQ_EINVAL:
    case SQ_ETOOBIG:
        admin_problem(a, 400, "bad_request", "%s", e->text);
        break;
    default:
        admin_problem(a, 503, "queue_unavailable", "%s", e->text);
    }
}

void admin_not_allowed(struct admin_ans *a, const char *allow)
{
    admin_problem(a, 405, "method_not_allowed", "allowed: %s", allow);
    a->allow = allow;
}

void admin_kept(struct admin_call *c)
{
    uint64_t need;

    switch (mng_service_flush(c->s, &need)) {
    case MNG_STORED:
        break;
    case MNG_STORED_LATER:
        mng_defer(c->s, c->a, need);
        break;
    case MNG_NOT_STORED:
        c->a->etag = NULL;
        admin_problem(c->a, 503, "queue_unavailable",
                      "the store cannot be written: the change may be lost at a restart");
        break;
    }
}

void admin_changed(struct admin_call *c, json_t *j)
{
    admin_json(c->a, 200, j);
    admin_kept(c);
}

bool admin_is_true(const struct admin_call *c, const char *name)
{
    char word[8];

    return admin_query(c->q->query, name, word, sizeof(word)) && strcmp(word, "true") == 0;
}

uint64_t admin_number(struct admin_call *c, const char *name, uint64_t max, uint64_t absent)
{
    char text[24] = "", *end = text;
    uint64_t n = 0;

    if (!admin_query(c->q->query, name, text, sizeof(text)))
        n = absent;
    else if (text[0] >= '0' && text[0] <= '9')
        n = strtoull(text, &end, 10);
    if (n == 0 || *end != '\0' || n > max) {
        admin_problem(c->a, 400, "bad_request", "?%s= must be a number from 1 to %llu", name,
                      (unsigned long long)max);
        return 0;
    }
    return n;
}

json_t *admin_moment(int64_t ms)
{
    return ms > 0 ? json_real((double)ms / 1000) : json_null();
}

json_t *admin_load_json(const struct mng_service *s, enum rpc_role role, const char *name)
{
    const struct load_seen *x = loads_of(&s->loads, role, name, ev_now(s->ev));
    json_t *j;

    if (x == NULL)
        return json_null();
    j = json_pack("{s:f,s:I,s:f,s:s}", "cpu", (double)x->load.cpu_permille / 1000, "rss_bytes",
                  (json_int_t)(x->load.rss_bytes), "started_at", (double)x->load.started_ms / 1000, "version",
                  x->version);
    if (x->warning[0] != '\0')
        (void)json_object_set_new(j, "warning", json_string(x->warning));
    if (x->load.answers)
        (void)json_object_update_new(j, json_pack("{s:I,s:I}", "answers_per_s",
                                                  (json_int_t)(x->load.answers_per_s), "p99_us",
                                                  (json_int_t)(x->load.p99_us)));
    else
        (void)json_object_set_new(j, "late_us", json_integer((json_int_t)(x->load.late_us)));
    return j;
}
