/* api.c: who calls the admin API. */
#include "queuemng/service/api.h"

#include <string.h>

#include "queuemng/admin/dashboard.h"
#include "queuemng/admin/sign_in.h"
#include "queuemng/service/routes.h"

#define PREFIX "/v1/admin/"

/* NULL: the answer says why. */
static const struct access_token *token_of(struct admin_call *c)
{
    const struct admin_req *q = c->q;
    bool in_session = q->token_len == 0 && q->session_len > 0;
    const struct access_token *t = in_session ? sign_in_token(c)
                                              : access_find(&c->s->root, q->token, q->token_len);

    if (t == NULL && !in_session)
        t = access_find(&c->s->tokens, q->token, q->token_len);
    if (t == NULL && in_session)
        admin_problem(c->a, 401, "unauthorized", "the session has ended, or its token was revoked: sign "
                      "in again");
    else if (in_session && !q->dashboard && strcmp(q->method, "GET") != 0)
        admin_problem(c->a, 403, "forbidden", "a session is for the dashboard: with the cookie alone, "
                      "without X-Segq-Dashboard, another site may have made the browser ask");
    else if (t == NULL)
        admin_problem(c->a, 401, "unauthorized",
                      "missing or invalid admin token: it is in the file that admin_token_file names, "
                      "or was made by segqctl token add");
    else if (access_is_over(t, ev_wall_ms(c->s->ev)))
        admin_problem(c->a, 401, "unauthorized", "the token %s has ended, at %s", t->name, t->until);
    else
        return t;
    return NULL;
}

void admin_api(void *ctx, const struct admin_req *q, struct admin_ans *a)
{
    struct admin_call c = { .s = ctx, .q = q, .a = a };
    const struct access_token *t;
    struct bearer who;

    if (strncmp(q->path, PREFIX, sizeof(PREFIX) - 1) != 0) {
        if (!admin_page(&c))
            admin_problem(a, 404, "not_found", "no such path");
    } else if ((t = token_of(&c)) != NULL) {
        who = bearer_of(t);
        c.who = &who;
        route_call(&c, q->path + sizeof(PREFIX) - 1);
    }
}
