/* trace.c: GET /v1/admin/tickets/{token}: one ticket's story.
 *
 *   request --WHY--> every segment node     what it knows of the ticket --> "state" ...
 *   answer  <------- all of them, or WAIT_MS  lines of its audit trail  --> "events"
 *
 * All are asked, since a ticket that was moved has left lines on each node that it was on.
 * Nothing of this goes through the core: a question changes nothing. */
#include "queuemng/admin/trace.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/admin/answers.h"
#include "queuemng/core/orders.h"
#include "queuemng/process/manager.h"

#define WAIT_MS    4000 /* segqctl waits for longer */
#define TRACES_MAX 16   /* at the same time: operators are few */
#define NODES_MAX  256

struct asked { /* a node */
    char name[NAME_MAX_LEN + 1];
    bool answered; /* at all */
    bool over;     /* nothing more will come */
    bool trail, whole;
    uint64_t read;
};

struct trace {
    struct list_node in; /* mng_service.traces */
    struct admin_held *answer;
    uint64_t ask;
    msec_t until;
    struct ticket_name name;
    struct mng_place_view place; /* texts are not kept: see placed */
    bool placed;
    char queue[NAME_MAX_LEN + 1], lane[NAME_MAX_LEN + 1], host[NAME_MAX_LEN + 1];
    struct msg_why_ans now; /* answer of the node that has it */
    char node[NAME_MAX_LEN + 1];
    bool known;
    struct asked asked[NODES_MAX];
    unsigned n_asked;
    json_t *events; /* owned: newest first of each node */
};

/* ---- words ------------------------------------------------------------------------- */

static const char *state_word(unsigned state)
{
    static const char *const word[WHY_NSTATES] = {
        [WHY_NOT_HERE] = "unknown", [WHY_MOVED] = "unknown",     [WHY_AWAY] = "away",
        [WHY_WAITING] = "waiting",  [WHY_READY] = "ready",       [WHY_ADMITTED] = "admitted",
        [WHY_GRACE] = "grace",      [WHY_RETURNING] = "returning", [WHY_GONE] = "gone",
    };

    return state < WHY_NSTATES ? word[state] : "unknown";
}

static const char *reason_word(unsigned reason)
{
    static const char *const word[] = {
        [GONE_EXPIRED] = "expired",   [GONE_LEFT] = "left",
        [GONE_NO_SHOW] = "no_show",   [GONE_FINISHED] = "finished",
        [GONE_LOST] = "segment_lost",
    };

    return reason < ARRAY_LEN(word) ? word[reason] : "unknown";
}

static const char *gone_because(unsigned reason)
{
    switch (reason) {
    case GONE_EXPIRED:
        return "it did not poll for longer than the idle time-out";
    case GONE_LEFT:
        return "it left: its owner or the backend said so, or a claim replaced it";
    case GONE_NO_SHOW:
        return "it was released, did not collect its pass in time and did not come back "
               "inside the grace";
    case GONE_FINISHED:
        return "it was released, and its session is over";
    case GONE_LOST:
        return "its number is not known: it was never given, or lost with its node";
    default:
        return "for a reason that this manager does not know";
    }
}

static const char *released_because(const struct msg_why_ans *a)
{
    switch (a->state) {
    case WHY_READY:
        return a->unstored ? "it is released, and told so as soon as the release is stored"
                         : "it is released; with its next poll it collects its pass";
    case WHY_ADMITTED:
        return "it has collected its pass";
    case WHY_GRACE:
        return "it was released, but did not collect its pass in time; if it polls inside "
               "the grace it goes first";
    case WHY_RETURNING:
        return "it came back inside the grace: the next release is its";
    default:
        return gone_because(a->reason);
    }
}

static void because(const struct trace *w, char *out, size_t cap)
{
    const struct msg_why_ans *a = &w->now;
    unsigned long long before = a->position > 0 ? a->position - 1 : 0;

    if (!w->known && w->placed)
        snprintf(out, cap, "node %s, which has its segment, did not answer", w->host);
    else if (!w->known)
        snprintf(out, cap, "its segment is gone: all its tickets were released, left or "
                           "timed out long ago, or the queue was flushed or deleted");
    else if (a->state == WHY_AWAY)
        snprintf(out, cap, "its node was lost; with its next poll it has its place again");
    else if (a->state == WHY_WAITING && a->position == 0 && w->place.prequeue)
        snprintf(out, cap, "it came early: it waits, and its position is drawn when the queue opens");
    else if (a->state == WHY_WAITING && a->position == 0)
        snprintf(out, cap, "it waits; its position is not known while a segment is rebuilt");
    else if (a->state == WHY_WAITING)
        snprintf(out, cap, "it waits; %llu before it in its lane", before);
    else
        snprintf(out, cap, "%s", released_because(a));
}

/* ---- the answer -------------------------------------------------------------------- */

static void set_name(json_t *doc, const struct trace *w)
{
    static const char *const client[CLIENT_NCLASSES] = {
        [CLIENT_GAME] = "game", [CLIENT_MOBILE] = "mobile", [CLIENT_BROWSER] = "browser"
    };
    const struct ticket_name *n = &w->name;
    char id[40];

    snprintf(id, sizeof(id), "%llu-%u", (unsigned long long)n->seg, n->number);
    (void)json_object_set_new(doc, "ticket", json_string(id));
    if (n->has_token)
        (void)json_object_update_new(
            doc, json_pack("{s:I,s:s,s:b}", "joined_at", (json_int_t)n->issued_s, "client",
                           client[n->client < CLIENT_NCLASSES ? n->client : 0], "has_subject",
                           n->has_subject));
    (void)json_object_update_new(doc, json_pack("{s:s?,s:s?}", "queue",
                                                w->placed ? w->queue : NULL, "lane",
                                                w->placed ? w->lane : NULL));
}

static void set_times(json_t *doc, const struct msg_why_ans *a)
{
    if (a->state == WHY_WAITING)
        (void)json_object_update_new(
            doc, json_pack("{s:o,s:I,s:I}", "position",
                           a->position != 0 ? json_integer((json_int_t)a->position)
                                            : json_null(),
                           "poll_after_ms", (json_int_t)a->told_ms, "silent_ms",
                           (json_int_t)a->silent_ms));
    if (a->state != WHY_GONE && a->state != WHY_AWAY)
        (void)json_object_set_new(doc, "ends_in_ms", json_integer((json_int_t)a->left_ms));
    if (a->released_at_ms > 0)
        (void)json_object_update_new(
            doc, json_pack("{s:f,s:I}", "released_at", (double)a->released_at_ms / 1000,
                           "pass_expires_at", (json_int_t)a->pass_expires_s));
}

static void set_now(json_t *doc, const struct trace *w)
{
    const struct msg_why_ans *a = &w->now;
    const char *node = w->known ? w->node : w->placed ? w->host : NULL;
    seg_id seg = w->known ? a->segment : w->placed ? w->place.segment : 0;
    char text[200];

    because(w, text, sizeof(text));
    (void)json_object_update_new(
        doc, json_pack("{s:s,s:s*,s:s,s:o,s:s?,s:b}", "state",
                       w->known ? state_word(a->state) : "unknown", "reason",
                       w->known && a->state == WHY_GONE ? reason_word(a->reason) : NULL,
                       "because", text, "segment",
                       node != NULL ? json_integer((json_int_t)seg) : json_null(), "node", node,
                       "moving", w->known && a->fenced));
    if (w->known)
        set_times(doc, a);
}

static json_t *nodes_json(const struct trace *w, bool *whole)
{
    json_t *list = json_array();

    *whole = true;
    for (unsigned i = 0; i < w->n_asked; i++) {
        const struct asked *n = &w->asked[i];

        *whole = *whole && n->over && n->trail && n->whole;
        (void)json_array_append_new(list, json_pack("{s:s,s:b,s:b,s:b,s:I}", "node", n->name,
                                                    "answered", n->answered, "trail",
                                                    n->trail, "whole",
                                                    n->over && n->trail && n->whole, "read_bytes",
                                                    (json_int_t)n->read));
    }
    return list;
}

struct ranked {
    json_t *line; /* ref */
    const char *time;
    size_t at;
};

/* By time; lines of the same time in a node's order (its lists begin with the newest). */
static int by_time(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int c = strcmp(x->time, y->time);

    return c != 0 ? c : (x->at < y->at) - (x->at > y->at);
}

static json_t *events_in_order(const json_t *events)
{
    size_t n = json_array_size(events);
    struct ranked *v = calloc(n + 1, sizeof(*v));
    json_t *out = json_array();

    for (size_t i = 0; v != NULL && i < n; i++) {
        const char *time;

        v[i].line = json_array_get(events, i);
        time = json_string_value(json_object_get(v[i].line, "time"));
        v[i].time = time != NULL ? time : "";
        v[i].at = i;
    }
    if (v != NULL)
        qsort(v, n, sizeof(*v), by_time);
    for (size_t i = 0; v != NULL && i < n; i++)
        (void)json_array_append(out, v[i].line);
    free(v);
    return out;
}

static void fill(const struct trace *w, struct admin_ans *a)
{
    json_t *doc = json_object(), *nodes;
    bool whole;

    set_name(doc, w);
    set_now(doc, w);
    nodes = nodes_json(w, &whole);
    (void)json_object_update_new(doc, json_pack("{s:o,s:b,s:o}", "nodes", nodes, "trail_whole",
                                                whole, "events", events_in_order(w->events)));
    buf_reset(&a->body);
    admin_json(a, 200, doc);
}

static void finish(struct mng_service *s, struct trace *w)
{
    struct admin_held *answer = w->answer;

    assert(answer != NULL && w->n_asked <= NODES_MAX);
    fill(w, admin_held_ans(answer));
    list_remove(&s->traces, &w->in);
    json_decref(w->events);
    free(w);
    admin_send(answer);
}

/* ---- nodes ------------------------------------------------------------------------- */

static bool say(struct rpc_chan *ch, const struct trace *w)
{
    struct msg m = { .type = MSG_WHY };

    m.why = (struct msg_why){ w->ask, w->name.seg, w->name.number, w->name.client };
    if (rpc_send(ch, &m, 0) == 0)
        return true;
    rpc_chan_close(ch, "out of memory");
    return false;
}

static void ask_all(struct mng_service *s, struct trace *w)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&s->peers, i, &key, &val)) != 0;) {
        struct rpc_chan *ch = (struct rpc_chan *)(uintptr_t)val;
        const struct rpc_peer *p = rpc_chan_peer(ch);

        if (p->role != RPC_SEGMENT || w->n_asked == NODES_MAX || !say(ch, w))
            continue;
        memcpy(w->asked[w->n_asked++].name, p->node, sizeof(p->node));
    }
}

static bool is_over(const struct trace *w)
{
    for (unsigned i = 0; i < w->n_asked; i++)
        if (!w->asked[i].over)
            return false;
    return true;
}

static struct asked *asked_of(struct trace *w, const char *node)
{
    for (unsigned i = 0; i < w->n_asked; i++)
        if (!w->asked[i].over && strcmp(w->asked[i].name, node) == 0)
            return &w->asked[i];
    return NULL;
}

/* Another node may still have an old copy of its segment: the one that the map names counts. */
static void take_state(struct trace *w, const char *node, const struct msg_why_ans *a)
{
    bool named = w->placed && strcmp(node, w->host) == 0;

    if (a->state == WHY_NOT_HERE || a->state == WHY_MOVED || (w->known && !named))
        return;
    w->now = *a;
    w->now.lines = NULL;
    w->known = true;
    snprintf(w->node, sizeof(w->node), "%s", node);
}

static void take_lines(struct trace *w, const char *lines)
{
    for (size_t n; *lines != '\0'; lines += n + (lines[n] == '\n')) {
        json_t *line;

        n = strcspn(lines, "\n");
        line = json_loadb(lines, n, 0, NULL);
        if (line != NULL)
            (void)json_array_append_new(w->events, line);
    }
}

void mng_trace_answer(struct mng_service *s, const char *node, const struct msg_why_ans *a)
{
    list_each (&s->traces, it) {
        struct trace *w = container_of(it, struct trace, in);
        struct asked *n = w->ask == a->ask ? asked_of(w, node) : NULL;

        if (n == NULL)
            continue;
        n->answered = true;
        n->over = !a->more;
        n->trail = a->trail;
        n->whole = a->trail_whole;
        n->read = a->trail_bytes;
        if (!a->lines_only)
            take_state(w, node, a);
        take_lines(w, a->lines);
        if (is_over(w))
            finish(s, w);
        return;
    }
}

void mng_trace_tick(struct mng_service *s)
{
    list_each (&s->traces, it) {
        struct trace *w = container_of(it, struct trace, in);

        if (ev_now(s->ev) >= w->until || is_over(w))
            finish(s, w);
    }
}

void mng_trace_end(struct mng_service *s)
{
    list_each (&s->traces, it)
        finish(s, container_of(it, struct trace, in));
}

/* ---- the request ------------------------------------------------------------------- */

static struct trace *trace_new(struct mng_service *s, const struct ticket_name *name)
{
    struct trace *w = s->traces.n < TRACES_MAX ? calloc(1, sizeof(*w)) : NULL;

    if (w == NULL || (w->events = json_array()) == NULL) {
        free(w);
        return NULL;
    }
    w->name = *name;
    w->ask = ++s->last_trace;
    w->until = ev_now(s->ev) + WAIT_MS;
    w->placed = mng_place(s->mng, name->seg, &w->place);
    if (w->placed) {
        snprintf(w->queue, sizeof(w->queue), "%s", w->place.queue);
        snprintf(w->lane, sizeof(w->lane), "%s", w->place.lane);
        snprintf(w->host, sizeof(w->host), "%s", w->place.node);
    }
    return w;
}

/* False: answered. */
static bool read_name(struct admin_call *c, const char *text, struct ticket_name *name)
{
    int rc = ticket_name_read(name, &c->s->keys.token, text);

    if (rc < 0)
        admin_problem(c->a, 404, "ticket_unknown", "%s",
                      rc == SQ_EAUTH ? "not a token of this cluster"
                                     : "neither a token nor an id (segment-number)");
    return rc >= 0;
}

void admin_trace(struct admin_call *c)
{
    struct ticket_name name;
    struct trace *w;

    if (!read_name(c, c->rest, &name))
        return;
    w = trace_new(c->s, &name);
    if (w == NULL || (w->answer = admin_hold(c->a)) == NULL) {
        if (w != NULL)
            json_decref(w->events);
        free(w);
        admin_problem(c->a, 503, "queue_unavailable",
                      "too many ticket traces at the same time; retry in some seconds");
        return;
    }
    list_push_back(&c->s->traces, &w->in);
    ask_all(c->s, w); /* answered with a later turn, if by nobody with the next tick */
}

/* ---- another device takes it over -------------------------------------------------- */

void admin_rebind(struct admin_call *c)
{
    struct mng_rebind_view v;
    struct ticket_name name;
    struct err e = { 0 };
    char ticket[40], path[ADMIN_NAME_MAX + TOKEN_TEXT_LEN + 20];
    int rc;

    if (!read_name(c, c->name, &name))
        return;
    rc = mng_rebind(c->s->mng, ev_now(c->s->ev), &c->s->keys.token, name.seg, name.number, &v, mng_service_step(c->s), &e);
    if (rc < 0) {
        admin_err(c->a, &e, "ticket_unknown");
        return;
    }
    snprintf(ticket, sizeof(ticket), "%llu-%u", (unsigned long long)name.seg, name.number);
    snprintf(path, sizeof(path), "/q/%s?take=%s", v.queue, v.token);
    admin_changed(c, json_pack("{s:s,s:s,s:s,s:s,s:I,s:s}", "queue", v.queue, "ticket", ticket, "was",
                               v.was_moved ? "the device that took it over" : "the device that joined", "device",
                               "the next one that shows it", "until_ms", (json_int_t)v.until_ms, "path", path));
}
