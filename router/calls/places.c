/* places.c: see places.h. */
#include "router/calls/places.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "router/api/json_out.h"
#include "router/calls/places_call.h"
#include "router/calls/ticket.h"

#define INSIDE_MS 30000

/* ---- answers ---- */

static const char *const states[] = { [PLACE_IS_UNKNOWN] = "unknown", [PLACE_IS_WAITING] = "waiting",
                                      [PLACE_IS_INSIDE] = "unknown", [PLACE_IS_ADMITTED] = "admitted",
                                      [PLACE_IS_OVER] = "over" };

/* A place of a group leaves with all the others, or for the one that is admitted. */
static const char *why_over(const struct places *p, const struct one_place *v)
{
    return v->reason == GONE_LEFT && !p->keeps && places_first(p) < p->n ? "given_up" : api_gone_word(v->reason);
}

static void put_pass(struct buf *b, const char *pass, size_t n, int64_t expires_s)
{
    ADD(b, ",\"pass\":\"");
    buf_append(b, pass, n);
    out_u64(b, "\",\"pass_expires_at\":", (uint64_t)expires_s);
}

static void put_place(const struct places_call *c, struct buf *b, unsigned i)
{
    struct router *r = c->r;
    const struct places *p = &c->p;
    const struct kept_pass *k = &c->pass[i];
    const struct one_place *v = &p->v[i];
    struct route_owner o;
    bool known = routes_owner(r->routes, v->token.seg, &o) == 0 && o.queue != NULL;
    bool amid = v->is == PLACE_IS_ADMITTED && !p->keeps && p->step != PLACES_DONE;
    uint8_t is = amid ? (uint8_t)PLACE_IS_UNKNOWN : v->is;
    struct api_ticket t = { .queue = known ? o.queue : NULL, .lane = known ? o.lane : 0,
                            .position = v->position };

    buf_str(b, i == 0 ? "{\"queue\":" : ",{\"queue\":");
    if (known)
        out_word(b, "", o.queue->map.name);
    else
        ADD(b, "null");
    out_word(b, ",\"state\":", states[is]);
    if (v->is == PLACE_IS_OVER)
        out_word(b, ",\"reason\":", why_over(p, v));
    if (v->is == PLACE_IS_WAITING && known) {
        out_or_null(b, ",\"position\":", v->position != 0 ? (int64_t)api_position(&t) : -1);
        out_or_null(b, ",\"eta_s\":",
                    v->position != 0 ? api_eta_s(v->position, api_lane_stats(&t)) : -1);
    }
    out_id(b, ",\"ticket\":", v->token.seg, v->token.number);
    if (k->n > 0)
        put_pass(b, (const char *)c->passes.data + k->at, k->n, k->expires_s);
    ADD(b, "}");
}

/* The soonest of what its places were told; one that is unknown, or admitted at its join: soon. Of a group that
 * keeps the others, one that is inside is looked at now and then, for its end. */
static uint32_t poll_after(const struct places *p)
{
    uint32_t ms = p->keeps ? INSIDE_MS : UINT32_MAX;

    for (unsigned i = 0; i < p->n; i++) {
        const struct one_place *v = &p->v[i];
        uint32_t its = v->is == PLACE_IS_WAITING && v->poll_after_ms != 0 ? v->poll_after_ms : 1000;

        if (v->is != PLACE_IS_OVER && !(p->keeps && v->is == PLACE_IS_ADMITTED) && its < ms)
            ms = its;
    }
    return ms;
}

uint32_t places_told(struct places_call *c)
{
    uint32_t ms = poll_after(&c->p);

    for (unsigned i = 0; i < c->p.n; i++)
        if (c->p.v[i].is == PLACE_IS_WAITING)
            ticket_polled(c->r, &c->p.v[i].token, ms);
    return ms;
}

/* A join that stops amid a turn has its places: its group is told without a pass, and the next poll goes on.
 * rf: the poll of the one that is kept, if it has one; else NULL. */
static void put_group(struct places_call *c, const struct rflow *rf)
{
    struct api_ans *a = &c->r->ans;
    struct buf *b = &a->body;
    unsigned n[PLACE_NIS] = { 0 };
    bool pass = rf != NULL && rf->pass != NULL, in;
    char name[GROUP_NAME_ROOM];

    assert(c->p.step == PLACES_DONE || c->joins);
    for (unsigned i = 0; i < c->p.n; i++)
        n[c->p.v[i].is]++;
    in = pass || (c->p.keeps && n[PLACE_IS_ADMITTED] > 0 && n[PLACE_IS_ADMITTED] + n[PLACE_IS_OVER] == c->p.n);
    group_name_write(&c->p, &c->r->keys.token, name);
    api_ok(a, c->joins ? 201 : 200);
    out_word(b, "{\"group\":", name);
    out_word(b, ",\"state\":", in ? "admitted" : n[PLACE_IS_OVER] == c->p.n ? "over" : "waiting");
    ADD(b, ",\"places\":[");
    for (unsigned i = 0; i < c->p.n; i++)
        put_place(c, b, i);
    ADD(b, "]");
    if (pass) {
        put_pass(b, rf->pass, rf->pass_len, (int64_t)rf->flow.pass_expires_s);
    } else if (n[PLACE_IS_OVER] < c->p.n) {
        out_u64(b, ",\"poll_after_ms\":", places_told(c));
    }
    ADD(b, "}");
}

/* The problem of the queue that could not be joined, by its name. */
static void put_failed_join(struct places_call *c)
{
    static const char none[] = "none of the queues was joined, for this one could not be: ";
    char detail[sizeof(none) + NAME_MAX_LEN];

    snprintf(detail, sizeof(detail), "%s%s", none, c->queue[c->p.failed - 1]);
    api_problem(&c->r->ans, api_flow_problem(&c->why), detail, router_request_id(c->r));
}

/* Answers, with what the last step came to. */
static void put_answer(struct places_call *c, const struct rflow *rf)
{
    if (c->p.failed != 0)
        put_failed_join(c);
    else if (c->p.step != PLACES_DONE && !c->joins)
        api_problem_later(&c->r->ans, API_QUEUE_UNAVAILABLE,
                          "a line cannot be reached now; the places are kept, ask again", 1000,
                          router_request_id(c->r));
    else if (c->leaves)
        c->r->ans.status = 204;
    else
        put_group(c, rf);
}

/* ---- the requests ---- */

struct said { /* slices point into the request's bytes */
    int64_t client, others;
    struct slice group, claim;
    uint8_t n;
    struct slice queue[PLACES_MAX];
};

/* to: n. */
static bool take_queue(void *to, struct slice one)
{
    struct said *b = container_of(to, struct said, n);

    for (unsigned i = 0; i < b->n; i++)
        if (b->queue[i].n == one.n && memcmp(b->queue[i].p, one.p, one.n) == 0)
            return false;
    if (!api_is_name(one.p, one.n))
        return false;
    b->queue[b->n++] = one;
    return true;
}

static bool read_queues(const struct json_member *m, struct json_scan *s, void *to)
{
    return json_list(m, s, to, take_queue);
}

enum { SAID_OTHERS = 2 };

static const struct json_member members[] = {
    { "queues", offsetof(struct said, n), 2, PLACES_MAX, read_queues, RANGE_UNSAID, NULL,
      " must be a list of 2 to 8 names of queues, each once" },
    { "group", offsetof(struct said, group), 1, NAME_MAX_LEN, json_visible, RANGE_UNSAID, NULL,
      " must be the name of a group of this router's configuration" },
    { "others", offsetof(struct said, others), 0, 2, json_word, RANGE_UNSAID, group_others,
      " must be give_up or keep" },
    { "client", offsetof(struct said, client), 0, CLIENT_NCLASSES, json_word, RANGE_UNSAID, join_clients,
      " must be browser, mobile or game" },
    { "claim", offsetof(struct said, claim), 1, CLAIM_MAX_LEN, json_visible, RANGE_UNSAID, NULL,
      " must be a JWT (header.payload.signature)" },
};

/* False: the body is not as it must be; that is answered. */
static bool read_body(struct router *r, struct httpd_req *req, const struct http_req *q, struct said *b)
{
    struct body_error e = { 0 };
    uint64_t has;

    *b = (struct said){ 0 };
    if (!q->json)
        router_problem(r, req, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON");
    else if (!json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, q->body, b, &has, &e))
        router_problem(r, req, API_BAD_REQUEST, e.text);
    else if ((b->n == 0) == (b->group.n == 0))
        router_problem(r, req, API_BAD_REQUEST, "queues (a list of 2 to 8 names of queues) or group (a name "
                       "of the router's configuration), one of them");
    else if (b->group.n > 0 && (has & 1u << SAID_OTHERS) != 0)
        router_problem(r, req, API_BAD_REQUEST, "others is said of queues alone: a group's is in the router's "
                       "configuration");
    else
        return true;
    return false;
}

const struct cfg_group *places_group(const struct router *r, struct slice name)
{
    const struct cfg_group *g = r->cfg->groups.v;

    for (size_t i = 0; i < r->cfg->groups.n; i++)
        if (text_is(name.p, name.n, g[i].name))
            return &g[i];
    return NULL;
}

/* The queues that the body means, into b. False: it may not join them; that is answered. */
static bool find_group(struct router *r, struct httpd_req *req, struct said *b)
{
    const struct cfg_group *g = places_group(r, b->group);
    char *const *v = g != NULL ? g->queues.v : NULL;

    if (b->group.n == 0 && !r->cfg->join_groups) {
        router_problem(r, req, API_NOT_ELIGIBLE, "this router has groups by their names only: give group in "
                       "place of queues");
        return false;
    }
    if (b->group.n == 0)
        return true;
    if (g == NULL) {
        router_problem(r, req, API_QUEUE_NOT_FOUND, "this router's configuration has no group of that name");
        return false;
    }
    for (size_t i = 0; i < g->queues.n; i++)
        b->queue[b->n++] = (struct slice){ v[i], strlen(v[i]) };
    b->others = g->others;
    return true;
}

/* False: one of them may not be joined; that is answered. */
static bool find_queues(struct router *r, struct httpd_req *req, const struct said *b, struct places_call *c)
{
    for (unsigned i = 0; i < b->n; i++) {
        enum api_problem p;
        const char *why = places_add(c, b->queue[i], &p);
        char detail[300];

        if (why != NULL) {
            snprintf(detail, sizeof(detail), "none of the queues was joined, for %.*s: %s",
                     (int)b->queue[i].n, b->queue[i].p, why);
            router_problem(r, req, p, detail);
            return false;
        }
    }
    return router_may_pass_more(r, req, LIMIT_JOIN, b->n - 1u); /* each is a join; one was counted */
}

static bool take_key(struct router *r, struct httpd_req *req, struct slice key, struct places_call *c)
{
    if (key.p == NULL || places_key(c, key))
        return true;
    router_problem(r, req, API_BAD_REQUEST, "Idempotency-Key must be 16 to 127 visible ASCII characters");
    return false;
}

static bool join(struct router *r, struct httpd_req *req, const struct http_req *q, struct places_call *c)
{
    struct said b;

    if (!read_body(r, req, q, &b) || !find_group(r, req, &b) || !take_key(r, req, q->idempotency_key, c))
        return false;
    c->claim = b.claim;
    if (!find_queues(r, req, &b, c))
        return false;
    c->client = (uint8_t)b.client;
    c->p.keeps = b.others == GROUP_KEEPS;
    c->joins = true;
    return true;
}

/* A poll, or a leave: as many as it has places. False: too many; that is answered. */
static bool may_ask(struct router *r, struct httpd_req *req, const struct places_call *c)
{
    if (!router_may_pass_more(r, req, LIMIT_POLL, c->p.n - 1u)) /* the first one was counted */
        return false;
    for (unsigned i = 0; i < c->p.n && !c->leaves; i++)
        if (!ticket_may_poll(r, req, &c->p.v[i].token))
            return false;
    return true;
}

/* False: that is answered. */
static bool ask(struct router *r, struct httpd_req *req, struct slice group, struct places_call *c)
{
    if (group_name_read(&c->p, &r->keys.token, group))
        return may_ask(r, req, c);
    router_forged(r, req);
    return false;
}

void places_start(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice group)
{
    struct places_call *c;

    if (routes_version(r->routes) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "this router has no map of the queues yet; try again");
        return;
    }
    c = places_new(r, req, put_answer);
    if (c == NULL) {
        router_problem(r, req, API_OVERLOADED, "the router is overloaded; try again");
        return;
    }
    c->leaves = group.n > 0 && q->method == HTTP_DELETE;
    if (group.n > 0 ? ask(r, req, group, c) : join(r, req, q, c))
        places_run(c);
    else
        places_free(c);
}
