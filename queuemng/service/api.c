/* api.c: who calls the admin API: the bearer of a token or of a session, or a person whom a proxy
 * has signed in.
 *
 * A proxy is believed for its address (admin_trusted_proxies): whoever can send from there can say to
 * be anybody, also another account of the proxy's machine, or whatever makes a program there ask for
 * it. So where it is not alone, as with a loopback address, it has to send a secret as well
 * (admin_proxy_secret_file). By default none is believed, and then the headers are nothing: the call
 * is judged by its token. */
#include "queuemng/service/api.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <sodium.h>
#include <string.h>

#include "common/base/log.h"
#include "common/http/forwarded.h"
#include "common/net/net.h"
#include "queuemng/admin/dashboard.h"
#include "queuemng/admin/sign_in.h"
#include "queuemng/service/routes.h"

#define LOG_MODULE "manager"
#define PREFIX     "/v1/admin/"

/* ---- proxies ---- */

static bool says_who(const struct admin_req *q)
{
    const struct admin_forwarded *f = &q->forwarded;

    return f->user[0] != '\0' || f->email[0] != '\0' || f->groups[0] != '\0';
}

/* The secret, if there has to be one. */
static bool is_proved(struct mng_service *s, const struct admin_req *q)
{
    const char *said = q->forwarded.proof;
    size_t n = strlen(s->proxy_secret);
    uint64_t left_out;

    if (s->cfg->admin_proxy_secret_file[0] == '\0')
        return true;
    if (n > 0 && strlen(said) == n && sodium_memcmp(said, s->proxy_secret, n) == 0)
        return true;
    if (says_who(q) && log_may(&s->refused_log, ev_now(s->ev), ADMIN_LINES, &left_out))
        log_warn("event=proxy_unproved from=%s left_out=%" PRIu64, q->from, left_out);
    return false;
}

/* Does a proxy ask that is believed? Then from becomes the browser's address, as far as proxies say it:
 * in `text`, which stays. The list is read each time: operators are few. */
static bool is_proxied(struct mng_service *s, struct admin_req *q, char text[NET_TEXT_MAX])
{
    const struct cfg_list *l = &s->cfg->admin_trusted_proxies;
    struct net_addr browser = { .len = sizeof(browser.in6), .in6.sin6_family = AF_INET6 };
    const struct http_via *via = q->forwarded.via;
    struct ip_net nets[CFG_NETS_MAX];
    struct ip ip;
    size_t n = 0;

    while (n < l->n && ip_net_parse(&nets[n], ((char **)l->v)[n])) /* mng_cfg_check() has, too */
        n++;
    if (q->from == NULL || !ip_parse(&ip, q->from, strlen(q->from)) || !ip_in_any(nets, n, &ip))
        return false;
    if (!is_proved(s, q))
        return false;
    if (via != NULL && forwarded_client(&ip, FORWARDED_X, via->line, via->n, nets, n) > 0) {
        memcpy(&browser.in6.sin6_addr, ip.b, sizeof(ip.b));
        net_ip_text(&browser, text);
        q->from = text;
    }
    return true;
}

/* No row is for the person: to us they are nobody. */
static void no_row(struct admin_call *c, const struct access_person *p, const struct access_token *ended)
{
    const char *name = p->user[0] != '\0' ? p->user : p->email;
    uint64_t left_out;

    if (ended != NULL)
        admin_problem(c->a, 401, "unauthorized", "the proxy has signed in %s, whose row %s of "
                      "admin_tokens_file has ended, at %s", name, ended->name, ended->until);
    else if (!person_ok(name))
        admin_problem(c->a, 401, "unauthorized", "the proxy has signed in somebody without a user name or "
                      "address of printable ASCII, of at most %d characters", PERSON_MAX);
    else
        admin_problem(c->a, 401, "unauthorized", "the proxy has signed in %s: admin_tokens_file has no row "
                      "for this name, nor for a group of theirs", name);
    if (log_may(&c->s->refused_log, ev_now(c->s->ev), ADMIN_LINES, &left_out))
        log_warn("event=admin_refused token=- role=none needs=viewer who=%s from=%s did=%s what=- "
                 "left_out=%" PRIu64, log_q(name, strlen(name)), c->q->from, c->q->method, left_out);
}

/* ---- who it is ---- */

/* A browser adds the cookie, or the proxy's session, to requests that another site has made it send, too:
 * they are no proof that its user wants them. */
static bool may_be_forged(struct admin_call *c, const char *what)
{
    if (c->q->dashboard || strcmp(c->q->method, "GET") == 0)
        return false;
    admin_problem(c->a, 403, "forbidden", "%s is for the dashboard: with it alone, without "
                  "X-Segq-Dashboard, another site may have made the browser ask", what);
    return true;
}

static const struct access_token *by_token(struct admin_call *c)
{
    const struct admin_req *q = c->q;
    const struct access_token *t = access_find(&c->s->root, q->token, q->token_len);

    if (t == NULL)
        t = access_find(&c->s->tokens, q->token, q->token_len);
    if (t == NULL)
        admin_problem(c->a, 401, "unauthorized",
                      "missing or invalid admin token: it is in the file that admin_token_file names, "
                      "or was made by segqctl token add");
    return t;
}

static const struct access_token *by_session(struct admin_call *c)
{
    const struct access_token *t = sign_in_token(c);

    if (t == NULL)
        admin_problem(c->a, 401, "unauthorized", "the session has ended, or its token was revoked: sign "
                      "in again");
    return t == NULL || may_be_forged(c, "a session") ? NULL : t;
}

/* The row of the person that a proxy has signed in. NULL: the answer says why not, or is still empty:
 * there is none, but a session may be. */
static const struct access_token *by_proxy(struct admin_call *c, const char **person)
{
    const struct admin_forwarded *f = &c->q->forwarded;
    const struct access_person p = { f->user, f->email, f->groups };
    const struct access_token *ended, *t;

    if (f->twice) {
        admin_problem(c->a, 400, "bad_request", "X-Forwarded-User, -Email or -Groups comes twice: the proxy "
                      "has to put its own in place of the browser's, not beside it");
        return NULL;
    }
    t = access_of_person(&c->s->tokens, &p, ev_wall_ms(c->s->ev), person, &ended);
    if (t == NULL && c->q->session_len == 0)
        no_row(c, &p, ended);
    return t == NULL || may_be_forged(c, "a proxy's sign-on") ? NULL : t;
}

/* A token goes before all: whoever sends one says who they are, and if it is wrong, they are nobody;
 * what a program may do is what its token says, also behind a proxy that has an account for it. A
 * person whom a proxy has signed in goes before a cookie: the browser may be somebody else's by now,
 * whom the proxy knows, and the cookie does not. */
static const struct access_token *row_of(struct admin_call *c, const char **person)
{
    const struct access_token *t = NULL;

    if (c->q->token_len == 0 && c->proxied && says_who(c->q)) {
        t = by_proxy(c, person);
        if (t != NULL || c->a->status != 0)
            return t;
    }
    t = c->q->token_len == 0 && c->q->session_len > 0 ? by_session(c) : by_token(c);
    if (t == NULL || !access_is_over(t, ev_wall_ms(c->s->ev)))
        return t;
    admin_problem(c->a, 401, "unauthorized", "the token %s has ended, at %s", t->name, t->until);
    return NULL;
}

void admin_api(void *ctx, const struct admin_req *request, struct admin_ans *a)
{
    struct admin_req q = *request;
    struct admin_call c = { .s = ctx, .q = &q, .a = a };
    const struct access_token *t;
    const char *person = NULL;
    char from[NET_TEXT_MAX];
    struct bearer who;

    c.proxied = is_proxied(c.s, &q, from);
    if (strncmp(q.path, PREFIX, sizeof(PREFIX) - 1) != 0) {
        if (!admin_page(&c))
            admin_problem(a, 404, "not_found", "no such path");
    } else if ((t = row_of(&c, &person)) != NULL) {
        who = bearer_of(t, person);
        c.who = &who;
        route_call(&c, q.path + sizeof(PREFIX) - 1);
    }
}
