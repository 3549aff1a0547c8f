/* turn.c: see turn.h. */
#include "router/links/turn.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/call.h"
#include "router/api/json_out.h"
#include "router/state/contact.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/call.h"
#include "router/task_requests/submission.h"

#define LOG_MODULE "turn"

#define SPAN(text) ((struct call_span){ (text), sizeof(text) - 1 })
#define KEY_ROOM   64
#define ROOM       (2 * TASK_NAME_MAX + KEY_ROOM + 32)
#define NAME_HASH  8 /* bytes of a hash in a call's name */

#define TURN_LABEL    "segq-turn"
#define TURN_LATER_MS 5000  /* the pool is full, or its node away */
#define PUSH_SOON_S   3600  /* a push service keeps it for so long at most, while the browser is off, */
#define PUSH_LEAST_S  60    /* and for so long at least */
#define PUSH_WHO_S    43200 /* life of a signature; push services take a day at most */
#define TURN_NONE_MS  30000 /* the definition names no queue, or there are no tasks, or no way to a browser */
#define PUSH_TURN_US  10000 /* of a turn of the loop: a release of thousands leaves time for joins and polls */
#define PUSH_AGAIN_MS 100   /* the others are said again with the node's next tick */
#define NO_WAY_MS     (2 * TURN_NONE_MS + 5000) /* said again by then, if it is still so */

/* A word to be told, opened. */
struct turn {
    const struct msg_turn *m;
    const struct map_queue *q;
    char plain[CONTACT_PLAIN_MAX];
    struct web_push push; /* if it is pushed */
    bool is_pushed, by_other;
    bool looked; /* NOW, pushed: its subscription has not ended, as far as is known */
    char queue[TASK_NAME_MAX + 1]; /* queue of its call */
    const char *why; /* reason why nobody is called; NULL: its call is made */
};

static void turn_say(struct router *r, const struct notice_of *to, bool told, uint32_t later_ms)
{
    struct msg_turn_ans a = { .seg = to->id, .number = (uint32_t)to->no, .word = (uint8_t)to->part };

    a.told = told;
    a.later_ms = told ? 0 : later_ms;
    if (r->turn_told != NULL)
        r->turn_told(r, to->node, &a);
}

/* Says why, a line a second; the node says the turn again. */
static void turn_failed(struct router *r, const struct notice_of *to, const char *queue, const char *why, uint32_t later_ms)
{
    struct tasking *t = r->tasking;
    uint64_t left_out;

    if (t != NULL)
        t->counts.turns_failed++;
    if (t != NULL && log_may(&t->untold, ev_now(r->ev), 1, &left_out))
        log_warn("event=turn_not_told queue=%s ticket=%" PRIu64 "-%" PRIu64 " why=\"%s\" left_out=%" PRIu64, queue,
                 to->id, to->no, why, left_out);
    turn_say(r, to, false, later_ms);
}

/* SAME: it was told before, and that was not heard. */
static void turn_done(struct task_call *c, const struct msg *m)
{
    int code = c->v[0].code;

    (void)m;
    c->t->counts.turns += code == CODE_DONE;
    if (code == CODE_DONE || code == CODE_SAME)
        turn_say(c->t->r, &c->notice, true, 0);
    else
        turn_failed(c->t->r, &c->notice, c->queue.p, "no task node takes the call", TURN_LATER_MS);
}

/* People wait for the message of a push service that is not called: said in the log once, and to operators as long as
 * it is so. */
static void no_way(struct tasking *t, const struct turn *x)
{
    static const uint8_t any[crypto_shorthash_KEYBYTES];
    char text[sizeof(t->r->untold.text)];
    msec_t now = ev_now(t->r->ev);
    struct no_way *e;
    uint64_t hash;

    snprintf(text, sizeof(text), "queue %s: people are not told of their turn by %.80s: %s", x->q->name,
             x->push.host, x->why);
    crypto_shorthash((uint8_t *)&hash, (const uint8_t *)text, strlen(text), any);
    e = &t->no_ways[hash % ARRAY_LEN(t->no_ways)];
    if (e->hash != hash || now >= e->until)
        log_warn("event=turn_no_way queue=%s host=%s why=\"%s\"", x->q->name, log_q(x->push.host, strlen(x->push.host)),
                 x->why);
    *e = (struct no_way){ hash, now + NO_WAY_MS };
    strcpy(t->r->untold.text, text);
    t->r->untold.until = now + NO_WAY_MS;
    t->counts.turns_no_way++;
}

static const char *turn_word(const struct msg_turn *m)
{
    return m->word == TURN_NOW ? "turn.now" : "turn.soon";
}

static void put_time(struct buf *b, const char *before, int64_t ms)
{
    char text[ROUTER_TIME_MAX + 1];

    text[router_time_text(text, "rfc3339", ms / 1000)] = '\0';
    out_word(b, before, text);
}

/* Writes all that the receiver gets. plain: token and contact. */
static void turn_body(struct buf *b, const char *queue, const struct msg_turn *m, const char *plain)
{
    out_word(b, "{\"type\":", turn_word(m));
    put_time(b, ",\"timestamp\":", m->at_ms);
    out_word(b, ",\"data\":{\"queue\":", queue);
    out_id(b, ",\"ticket\":", m->seg, m->number);
    out_bytes(b, ",\"token\":\"", plain, TOKEN_TEXT_LEN);
    out_bytes(b, "\",\"contact\":", contact_text(plain), strlen(contact_text(plain)));
    if (m->until_ms != 0)
        put_time(b, ",\"until\":", m->until_ms);
    ADD(b, "}}");
}

static void pack_header(struct buf *form, const char *name, const char *value)
{
    call_pack_header(form, (struct call_span){ name, strlen(name) }, (struct call_span){ value, strlen(value) });
}

/* So long a message is worth something: for its push service, and in the line of its calls. */
static int64_t push_for_s(const struct router *r, const struct msg_turn *m)
{
    int64_t left_s = m->until_ms != 0 ? (m->until_ms - ev_wall_ms(r->ev)) / 1000 : PUSH_SOON_S;

    return left_s > PUSH_LEAST_S ? left_s : PUSH_LEAST_S;
}

/* A push service is called: what it gets says who sends it, and nothing of the person. */
static int push_pack(struct router *r, const struct map_queue *q, const struct msg_turn *m, const struct web_push *w,
                     bool by_other)
{
    struct buf *form = &r->tasking->form, body, who;
    char text[40], ttl[24];
    const char *word = turn_word(m);
    int n, rc;

    /* Blanks: both words are as long. */
    n = snprintf(text, sizeof(text), "{\"type\":\"%s\"}%*s", word, (int)(sizeof("turn.soon") - strlen(word)), "");
    snprintf(ttl, sizeof(ttl), "%lld", (long long)push_for_s(r, m));
    buf_init(&body);
    buf_init(&who);
    rc = web_push_seal(w, (struct slice){ text, (size_t)n }, &body);
    if (rc == 0)
        rc = web_push_authorize(by_other ? &r->other_push : &r->push, w->host, ev_wall_ms(r->ev) / 1000 + PUSH_WHO_S,
                                q->push_contact, &who);
    buf_byte(&who, 0);
    if (rc == 0 && who.failed)
        rc = SQ_ENOMEM;
    if (rc == 0) {
        call_pack_begin(form, SPAN("POST"), (struct call_span){ w->path, strlen(w->path) });
        pack_header(form, "Authorization", (const char *)who.data);
        pack_header(form, "Content-Encoding", "aes128gcm");
        pack_header(form, "Content-Type", "application/octet-stream");
        pack_header(form, "TTL", ttl);
        pack_header(form, "Urgency", "high");
        pack_header(form, "Topic", "segq"); /* the last one is shown */
        call_pack_body(form, (struct call_span){ (const char *)body.data, body.len });
    }
    buf_fini(&body);
    buf_fini(&who);
    return rc;
}

static void post_pack(struct buf *form, const char *queue, const struct msg_turn *m, const char *plain)
{
    struct buf body;

    buf_init(&body);
    turn_body(&body, queue, m, plain);
    call_pack_begin(form, SPAN("POST"), SPAN("/turns"));
    call_pack_header(form, SPAN("Content-Type"), SPAN("application/json"));
    call_pack_body(form, (struct call_span){ (const char *)body.data, body.len });
    form->failed |= body.failed;
    buf_fini(&body);
}

static void turn_open(const struct router *r, struct turn *x)
{
    int by = contact_open(&r->keys, x->m->sealed, x->m->n_sealed, x->plain);
    char copy[CONTACT_MAX + 1];
    enum contact_way way;
    bool reads;

    if (by < 0) {
        x->why = "its contact was sealed with another secret";
        return;
    }
    way = contact_way(x->plain);
    strcpy(copy, contact_text(x->plain));
    reads = way != CONTACT_POSTED && web_push_read(&x->push, (struct slice){ copy, strlen(copy) }) == NULL;
    explicit_bzero(copy, sizeof(copy));
    strcpy(x->queue, x->q->turn_queue);
    x->by_other = by > 0;
    /* An older router does not say it: then a browser's is what looks like one. */
    x->is_pushed = way == CONTACT_PUSHED || (reads && x->q->push_contact[0] != '\0');
}

/* A browser takes messages of its sender alone, by its push service alone: they are posted nowhere else. */
static bool has_way(struct tasking *t, struct turn *x)
{
    if (!x->is_pushed)
        return true;
    if (x->q->push_contact[0] == '\0')
        x->why = "turn_notice.push_contact was unset";
    else if (!web_push_queue(&x->push, x->q->turn_queue, x->queue) || !t->r->is_push_service(t->r, x->queue, x->push.host))
        x->why = "no pool has an endpoint of that host";
    else
        return true;
    no_way(t, x);
    return false;
}

/* Messages cost a fifth of a millisecond each. False: this turn has no time for more. */
static bool has_time(struct tasking *t)
{
    int64_t turn_us = ev_now_us(t->r->ev);

    if (t->push_turn_us != turn_us)
        t->push_spent_us = 0;
    t->push_turn_us = turn_us;
    return t->push_spent_us < PUSH_TURN_US;
}

static bool push(struct tasking *t, const struct turn *x)
{
    int64_t began_us = ev_read_mono_us();
    bool ok = push_pack(t->r, x->q, x->m, &x->push, x->by_other) == 0;

    t->push_spent_us += ev_read_mono_us() - began_us;
    return ok;
}

/* t->form is the call, or x->why. */
static void turn_pack(struct tasking *t, struct turn *x)
{
    buf_reset(&t->form);
    if (!x->is_pushed)
        post_pack(&t->form, x->q->name, x->m, x->plain);
    else if (!push(t, x))
        x->why = "its message cannot be sealed";
    if (t->form.failed)
        x->why = "there is no memory";
}

/* Name of the call that pushes SOON. It is of this subscription: who has subscribed again since is told. */
static void soon_name(const struct router *r, const struct turn *x, char name[TASK_NAME_MAX + 1])
{
    const uint8_t *key = x->by_other ? r->keys.other_contact : r->keys.contact;
    uint8_t of[crypto_generichash_BYTES_MIN];
    crypto_generichash_state h;
    int n = snprintf(name, TASK_NAME_MAX + 1, "turn %" PRIu64 "-%" PRIu32 " ", x->m->seg, x->m->number);

    crypto_generichash_init(&h, key, CONTACT_KEY_BYTES, sizeof(of));
    crypto_generichash_update(&h, (const uint8_t *)x->push.host, strlen(x->push.host) + 1);
    crypto_generichash_update(&h, (const uint8_t *)x->push.path, strlen(x->push.path));
    crypto_generichash_final(&h, of, sizeof(of));
    sodium_bin2hex(name + n, TASK_NAME_MAX + 1 - (size_t)n, of, NAME_HASH);
}

/* The digest is the key's: what was sealed anew, or is said at another time, is the same word. */
static void turn_fill(struct task_call *c, const struct turn *x)
{
    const struct msg_turn *m = x->m;
    struct slice form = call_bytes(c, (struct slice){ (char *)c->t->form.data, c->t->form.len }), key;
    struct ask *a = &c->v[0];
    char text[KEY_ROOM], name[TASK_NAME_MAX + 1] = "";

    static_assert(sizeof("turn 18446744073709551615-4294967295 ") + 2 * NAME_HASH <= TASK_NAME_MAX, "it is a name");
    if (x->is_pushed && m->word == TURN_SOON)
        soon_name(c->t->r, x, name);
    key.p = text;
    key.n = (size_t)snprintf(text, sizeof(text), "turn %" PRIu64 "-%" PRIu32 " %s", m->seg, m->number,
                             m->word == TURN_NOW ? "now" : "soon"); /* blanks: no client's key has one */
    key = call_bytes(c, key);
    a->kind = ASK_PUT;
    a->queue = c->queue = (struct slice){ call_copy(c, x->queue), strlen(x->queue) };
    a->repeats = true;
    a->is_call = true;
    a->put = (struct task_put){
        .queue = c->queue.p, .key1 = "", .key2 = "", .name = call_copy(c, name), .group = "",
        .own = { .labels = TURN_LABEL },
        .key = { (uint32_t)key.n, (const uint8_t *)key.p },
        .body = { (uint32_t)form.n, (const uint8_t *)form.p },
        .digest = submit_digest(key, true),
    };
}

static void turn_begin(struct router *r, const struct notice_of *to, struct turn *x);

/* Did the push service say that there is no such subscription any more? */
static bool has_ended(const struct msg_task_get_ans *a)
{
    const struct attempt_row *last = a->n_history > 0 ? &a->history[a->n_history - 1] : NULL;

    return a->state == TASK_DEAD && last != NULL && last->end == ATTEMPT_STATUS &&
           (last->number == 404 || last->number == 410);
}

/* Where nothing is known of it, it is called. */
static void turn_looked(struct task_call *c, const struct msg *m)
{
    struct msg_turn now;
    struct turn x = { .m = &now, .looked = true };

    memcpy(&now, c->turn.p, sizeof(now));
    now.sealed = (const uint8_t *)c->turn.p + sizeof(now);
    if (m != NULL && c->v[0].code == CODE_DONE && has_ended(&m->task_get_ans)) {
        c->t->counts.turns_ended++;
        turn_say(c->t->r, &c->notice, true, 0);
        return;
    }
    turn_begin(c->t->r, &c->notice, &x);
}

/* Was the subscription told SOON, and had it ended by then? */
static void turn_look(struct tasking *t, const struct notice_of *to, const struct turn *x)
{
    struct task_call *c = call_new(t, NULL, 1, sizeof(*x->m) + x->m->n_sealed + ROOM, 0, turn_looked);
    struct msg_turn m = *x->m;
    struct ask *a;
    char name[TASK_NAME_MAX + 1];

    if (c == NULL)
        return; /* said again */
    soon_name(t->r, x, name);
    a = &c->v[0];
    c->notice = *to;
    c->turn = call_bytes(c, (struct slice){ (char *)&m, sizeof(m) });
    (void)call_bytes(c, (struct slice){ (char *)(uintptr_t)m.sealed, m.n_sealed }); /* right behind it */
    a->kind = ASK_GET;
    a->queue = c->queue = (struct slice){ call_copy(c, x->queue), strlen(x->queue) };
    a->repeats = true;
    a->get = (struct msg_task_get){ .queue = c->queue.p, .name = call_copy(c, name) };
    call_begin(c);
}

/* The call is under way, or why it is not is said. */
static void turn_tell(struct tasking *t, const struct notice_of *to, struct turn *x)
{
    struct task_call *c;

    turn_open(t->r, x);
    if (x->why == NULL && !has_way(t, x)) {
        turn_say(t->r, to, false, TURN_NONE_MS);
        return;
    }
    if (x->why == NULL && x->is_pushed && !has_time(t)) {
        turn_say(t->r, to, false, PUSH_AGAIN_MS);
        return;
    }
    if (x->why == NULL && x->is_pushed && x->m->word == TURN_NOW && !x->looked) {
        turn_look(t, to, x);
        return;
    }
    if (x->why == NULL)
        turn_pack(t, x);
    if (x->why != NULL) {
        turn_failed(t->r, to, x->q->turn_queue, x->why, TURN_NONE_MS);
        return;
    }
    c = call_new(t, NULL, 1, t->form.len + ROOM, 0, turn_done);
    if (c == NULL)
        return; /* said again */
    c->notice = *to;
    turn_fill(c, x);
    if (x->is_pushed)
        c->v[0].put.own.ttl_ms = 1 + 1000 * (uint64_t)push_for_s(t->r, x->m);
    call_begin(c);
}

static void turn_begin(struct router *r, const struct notice_of *to, struct turn *x)
{
    struct route_owner o;

    if (r->tasking == NULL || routes_owner(r->routes, x->m->seg, &o) < 0 || o.queue == NULL ||
        o.queue->map.turn_queue[0] == '\0') {
        turn_failed(r, to, "", "the queue tells nobody", TURN_NONE_MS);
        return;
    }
    x->q = &o.queue->map;
    turn_tell(r->tasking, to, x);
    explicit_bzero(x, sizeof(*x));
}

void turn_heard(struct router *r, node_no node, const struct msg_turn *m)
{
    struct notice_of to = { node, m->word, m->seg, m->number };
    struct turn x = { .m = m };

    turn_begin(r, &to, &x);
}
