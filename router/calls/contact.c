/* contact.c: see contact.h. */
#include "router/calls/contact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/submit/json_members.h"
#include "router/calls/ticket.h"
#include "router/links/flows.h"
#include "router/state/contact.h"

/* Kept and told as it is spelt: nothing in here looks into it. */
static bool json_contact(const struct json_member *m, struct json_scan *s, void *to)
{
    char first = (char)json_scan_peek(s);

    return json_value(m, s, to) && (first == '"' || first == '{');
}

struct put {
    struct slice contact, push_key;
};

_Static_assert(CONTACT_MAX == 2048 && PUSH_KEY_LEN == 87, "as the answers say");

#define AT(f) offsetof(struct put, f)
static const struct json_member members[] = {
    { "contact", AT(contact), 3, CONTACT_MAX, .read = json_contact,
      .must = " must be a text or an object, of at most 2048 bytes as JSON" },
    { "push_key", AT(push_key), PUSH_KEY_LEN, PUSH_KEY_LEN, .read = json_visible,
      .must = " must be the key with which the browser subscribed: 87 characters" },
    JSON_OTHERS,
};

#define LOG_MODULE "contact"
#define OVERLOADED "the router is overloaded; try again"

static void contact_done(struct router *r, struct rflow *rf)
{
    bool ends = rf->contact->n_sealed == 0;

    switch (rf->flow.result) {
    case FLOW_OK:
        r->ans.status = 204;
        break;
    case FLOW_INSIDE:
        api_problem(&r->ans, API_CONFLICT, "the ticket was let in already", router_request_id(r));
        break;
    case FLOW_FULL:
        api_problem(&r->ans, API_QUEUE_FULL, "too many people want to be told already: poll instead",
                    router_request_id(r));
        break;
    case FLOW_GONE:
        if (ends) {
            r->ans.status = 204;
            break;
        }
        /* fall through */
    default:
        router_failed(r, &rf->flow);
    }
}

/* NULL: its queue tells nobody, or is gone, which the ticket's node says. */
static const struct map_queue *queue_of(const struct router *r, struct slice token, bool *is)
{
    struct route_owner o;
    struct token t;

    *is = (token_read(&t, &r->keys.token, token.p, token.n) == 0 || t.device != 0) &&
          routes_owner(r->routes, t.seg, &o) == 0 && o.queue != NULL;
    return *is && o.queue->map.turn_queue[0] != '\0' ? &o.queue->map : NULL;
}

static bool is_key(struct slice said, const struct web_push_key *k)
{
    return said.n == PUSH_KEY_LEN && memcmp(said.p, k->text, PUSH_KEY_LEN) == 0;
}

/* The secret may change between a page and the button on it, and each router shows the key of its first line:
 * what a browser subscribed with is what signs. False: none of ours. */
static bool key_known(const struct router *r, struct slice said, bool *by_other)
{
    *by_other = said.p != NULL && r->keys.token.has_other && is_key(said, &r->other_push);
    return said.p == NULL || *by_other || is_key(said, &r->push);
}

/* A subscription of a queue whose routers send the message: of a push service that the operator has named.
 * False: it has been answered. */
static bool may_be_pushed(struct router *r, struct httpd_req *req, const struct map_queue *of, const struct put *put,
                          bool *by_other)
{
    char text[CONTACT_MAX], queue[TASK_NAME_MAX + 1], why[URL_HOST_MAX + 100];
    struct web_push w;
    const char *wrong;
    uint64_t left_out;

    memcpy(text, put->contact.p, put->contact.n);
    wrong = web_push_read(&w, (struct slice){ text, put->contact.n });
    if (wrong == NULL && !key_known(r, put->push_key, by_other))
        wrong = "push_key is not this queue's (any more): load the page again";
    if (wrong != NULL) {
        snprintf(why, sizeof(why), "contact is no push subscription: %s", wrong);
        router_problem(r, req, API_BAD_REQUEST, why);
        return false;
    }
    if (web_push_queue(&w, of->turn_queue, queue) && r->is_push_service != NULL &&
        r->is_push_service(r, queue, w.host))
        return true;
    if (log_may(&r->push_refused, ev_now(r->ev), 1, &left_out))
        log_warn("event=push_refused queue=%s host=%s left_out=%" PRIu64, of->name, log_q(w.host, strlen(w.host)),
                 left_out);
    snprintf(why, sizeof(why), "%s is no push service that this queue uses: poll the ticket", w.host);
    router_problem(r, req, API_NOT_ELIGIBLE, why);
    return false;
}

struct contact_ask *contact_ask_new(const struct map_queue *of, size_t n)
{
    struct contact_ask *ask = calloc(1, sizeof(*ask) + (n > 0 ? CONTACT_SEALED_MAX - CONTACT_MAX + n : 0));

    if (ask != NULL && of != NULL)
        ask->claim_ms = of->turn_claim_s * 1000;
    return ask;
}

void contact_ask_fill(struct contact_ask *ask, const struct router *r, const char *text, const struct contact_in *c)
{
    if (c->text.n > 0)
        ask->n_sealed = contact_seal(&r->keys, text, c, ask->sealed);
}

/* Whatever the body says. False: it has been answered. */
static bool read_put(struct router *r, struct httpd_req *req, struct slice body, struct put *put)
{
    struct body_error e;
    uint64_t has;
    bool ok = json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, body, put, &has, &e);

    if (ok && put->contact.p != NULL)
        return true;
    router_problem(r, req, API_BAD_REQUEST, ok ? "contact is missing" : e.text);
    return false;
}

/* How its person is told. False: it has been answered. */
static bool find_way(struct router *r, struct httpd_req *req, const struct map_queue *of, const struct put *put,
                     struct contact_in *c)
{
    bool pushed = of != NULL && of->push_contact[0] != '\0';

    c->text = put->contact;
    if (put->contact.p[0] != '{' || of == NULL) /* a segment that this map has not yet: its turn decides */
        return true;
    c->way = pushed ? CONTACT_PUSHED : CONTACT_POSTED;
    return !pushed || may_be_pushed(r, req, of, put, &c->by_other);
}

void contact_start(struct router *r, struct httpd_req *req, const struct http_req *q, const struct api_req *a)
{
    bool puts = a->call == API_CONTACT, is;
    const struct map_queue *of = queue_of(r, a->arg, &is);
    struct contact_in c = { .way = CONTACT_UNSAID };
    struct put put = { 0 };
    struct contact_ask *ask;
    struct token t;
    struct rflow *rf;

    if (puts && !read_put(r, req, q->body, &put))
        return;
    if (puts && is && of == NULL) {
        router_problem(r, req, API_NOT_ELIGIBLE, "this queue tells nobody of their turn: poll the ticket");
        return;
    }
    if (puts && !find_way(r, req, of, &put, &c))
        return;
    ask = contact_ask_new(of, c.text.n);
    rf = ask == NULL ? NULL : ticket_call(r, req, q, a->arg, contact_done, OVERLOADED, &t);
    if (rf == NULL) {
        if (ask == NULL)
            router_problem(r, req, API_OVERLOADED, OVERLOADED);
        free(ask);
        return;
    }
    rf->contact = ask;
    contact_ask_fill(ask, r, a->arg.p, &c);
    flow_contact(&rf->flow, r->routes, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}
