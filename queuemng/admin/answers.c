/* answers.c: statuses, bodies and parameters of the admin API. */
#include "queuemng/admin/answers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/lead/deferred_answers.h"
#include "queuemng/lead/steps.h"

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
