/* answers.c: what the answers of the admin API have in common. */
#include "queuemng/admin/answers.h"

#include <stdlib.h>

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

void admin_err(struct admin_ans *a, const struct err *e)
{
    switch (e->code) {
    case SQ_EUNKNOWN:
        admin_problem(a, 404, "queue_not_found", "%s", e->text);
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
