/* notice.c: each becomes a submission. */
#include "router/task_requests/notice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/call.h"
#include "common/task/state.h"
#include "common/ticket/task_token.h"
#include "common/wire/codec.h"
#include "router/api/json_out.h"
#include "router/state/contact.h"
#include "router/state/web_push.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/submission.h"

#define LOG_MODULE "turn"

/* ---- notices ----------------------------------------------------------------------------- */

#define LABEL    "segq-notice"
#define KEY_ROOM 64
#define ROOM     (TASK_NAME_MAX + KEY_ROOM + sizeof(LABEL) + 16)
#define MORE     (TASK_TOKEN_LEN + 200) /* bytes of the body more than the text has */

#define SPAN(text) ((struct call_span){ (text), sizeof(text) - 1 })

static void notice_say(struct tasking *t, const struct notice_of *to, int code, const struct task_id *made)
{
    struct msg m = { .type = MSG_TASK_NOTICE_ANS };
    const struct node_link *l = node_links_reach(&t->links, to->node);

    m.task_notice_ans = (struct msg_task_notice_ans){
        .part = to->part, .id = to->id, .no = to->no,
        .code = code >= 0 && code < TASK_NCODES ? (uint8_t)code : CODE_BUSY,
        .to_part = made != NULL ? made->part : 0,
        .to_no = made != NULL ? made->no : 0,
    };
    if (l != NULL && l->ch != NULL)
        (void)!rpc_send(l->ch, &m, 0); /* else it is said again, to whom the node reaches */
}

static void notice_done(struct task_call *c, const struct msg *m)
{
    int code = c->v[0].code;

    (void)m;
    c->t->counts.notices += code == CODE_DONE;
    notice_say(c->t, &c->notice, code, NULL);
}

/* Writes what the receiver gets; the text is an object that begins with its moment. */
static bool notice_pack(struct tasking *t, const struct msg_task_notice *m)
{
    const char *begin = m->start != 0 ? "{\"started_at\":" : "{\"ended_at\":";
    const size_t skip = strlen(begin);
    const struct bytes_of *all = m->group.n > 0 ? &m->group : &m->text;
    char body[NOTICE_TEXT_MAX + MORE], token[TASK_TOKEN_LEN + 1] = "";
    const char *text = (const char *)all->p, *moment, *end;
    int n;

    if (all->n <= skip || memcmp(text, begin, skip) != 0)
        return false;
    moment = text + skip;
    end = memchr(moment, ',', all->n - skip);
    if (end == NULL || end - moment > 40)
        return false;
    if (m->group.n == 0)
        task_token_write(m->part, m->no, &t->r->keys.token, token);
    if (m->group.n > 0)
        n = snprintf(body, sizeof(body), "{\"type\":\"group.over\",\"timestamp\":%.*s,\"data\":%.*s}",
                     (int)(end - moment), moment, (int)all->n, text);
    else
        n = snprintf(body, sizeof(body), "{\"type\":\"task.%s\",\"timestamp\":%.*s,\"data\":{\"task\":\"%s\",%.*s}",
                     m->start != 0 ? "started" : task_state_word((enum task_state)m->state),
                     (int)(end - moment), moment, token, (int)all->n - 1, text + 1);
    buf_reset(&t->form);
    call_pack_begin(&t->form, SPAN("POST"), SPAN("/notices"));
    call_pack_header(&t->form, SPAN("Content-Type"), SPAN("application/json"));
    call_pack_body(&t->form, (struct call_span){ body, (size_t)n });
    return n > 0 && (size_t)n < sizeof(body);
}

static void notice_fill(struct task_call *c, const struct msg_task_notice *m)
{
    struct slice form = call_bytes(c, (struct slice){ (char *)c->t->form.data, c->t->form.len });
    struct slice name = { (char *)(uintptr_t)m->queue, strlen(m->queue) }, key;
    char text[KEY_ROOM];
    struct ask *a = &c->v[0];

    key.p = text;
    key.n = (size_t)snprintf(text, sizeof(text), "%s%" PRIu32 "-%" PRIu64 "@%" PRIu64,
                             m->group.n > 0 ? "group-" : m->start != 0 ? "start-" : "", m->part, m->no,
                             m->start != 0 ? m->start : (uint64_t)m->ended_ms);
    key = call_bytes(c, key);
    c->queue = (struct slice){ call_text(c, name), name.n };
    a->kind = ASK_PUT;
    a->queue = c->queue;
    a->repeats = true;
    a->is_call = true;
    a->put = (struct task_put){
        .queue = c->queue.p, .key1 = "", .key2 = "", .name = "", .group = "", .own = { .labels = LABEL },
        .key = { (uint32_t)key.n, (const uint8_t *)key.p },
        .body = { (uint32_t)form.n, (const uint8_t *)form.p },
        .digest = submit_digest(form, true),
    };
}

static void notice_begin(struct tasking *t, node_no node, const struct msg_task_notice *m)
{
    struct notice_of to = { node, m->part, m->id, m->no };
    struct task_call *c;

    if (!notice_pack(t, m)) {
        notice_say(t, &to, m->group.n > 0 ? CODE_CONFLICT : CODE_INVALID, NULL);
        return;
    }
    c = t->form.failed ? NULL : call_new(t, NULL, 1, t->form.len + ROOM, 0, notice_done);
    if (c == NULL)
        return; /* said again */
    c->notice = to;
    notice_fill(c, m);
    call_begin(c);
}

/* ---- next tasks of chains ----------------------------------------------------------------- */

static void handed_over(struct task_call *c, const struct msg *m)
{
    const struct ask *a = &c->v[0];
    int code = a->code == CODE_INVALID ? CODE_CONFLICT : a->code; /* INVALID is a router's that knows no chains */

    (void)m;
    c->t->counts.chained += code == CODE_DONE;
    notice_say(c->t, &c->notice, code, &(struct task_id){ a->part, a->no });
}

static void relay_fill(struct task_call *c, const struct task_put *row)
{
    struct ask *a = &c->v[0];
    char key[KEY_ROOM];

    a->kind = ASK_PUT;
    a->repeats = true;
    a->is_call = (row->chain & CHAIN_CALL) != 0;
    a->put = *row;
    a->put.part = 0;
    a->put.group = ""; /* none behind a task has one */
    a->put.chain = 0;
    a->put.queue = call_copy(c, row->queue);
    a->put.key1 = call_copy(c, row->key1);
    a->put.key2 = call_copy(c, row->key2);
    a->put.own.labels = call_copy(c, row->own.labels);
    a->put.body = call_bytes_of(c, row->body);
    a->put.then = call_bytes_of(c, row->then);
    a->put.key.p = (const uint8_t *)key; /* with a blank: no client's key has one */
    a->put.key.n = (uint32_t)snprintf(key, sizeof(key), "after %" PRIu32 "-%" PRIu64, row->after_part,
                                      row->after_no);
    a->put.key = call_bytes_of(c, a->put.key);
    a->put.digest = submit_digest((struct slice){ (char *)(uintptr_t)a->put.body.p, a->put.body.n }, a->is_call);
    c->queue = (struct slice){ (char *)(uintptr_t)a->put.queue, strlen(a->put.queue) };
    a->queue = c->queue;
}

static void relay_begin(struct tasking *t, node_no node, const struct msg_task_notice *m)
{
    struct notice_of to = { node, m->part, m->id, m->no };
    struct task_call *c = NULL;
    struct arena mem;
    struct msg put;
    int rc;

    arena_init(&mem);
    rc = msg_decode(MSG_TASK_PUT, m->put.p, m->put.n, &mem, &put);
    if (rc == 0 && put.task_put.n == 1)
        c = call_new(t, NULL, 1, m->put.n + KEY_ROOM + SUBMIT_ROOM, 0, handed_over);
    else if (rc != SQ_ENOMEM)
        notice_say(t, &to, CODE_CONFLICT, NULL);
    if (c != NULL) { /* else it is said again */
        c->notice = to;
        relay_fill(c, &put.task_put.v[0]);
    }
    arena_fini(&mem);
    if (c != NULL)
        call_begin(c);
}

void notice_heard(struct tasking *t, node_no node, const struct msg_task_notice *m)
{
    if (m->put.n > 0)
        relay_begin(t, node, m);
    else
        notice_begin(t, node, m);
}

/* ---- turns --------------------------------------------------------------------------------- */

#define TURN_LABEL    "segq-turn"
#define TURN_LATER_MS 5000  /* the pool is full, or its node away */
#define PUSH_SOON_S   3600  /* a push service keeps it for so long at most, while the browser is off, */
#define PUSH_LEAST_S  60    /* and for so long at least */
#define PUSH_WHO_S    43200 /* life of a signature; push services take a day at most */
#define TURN_NONE_MS  30000 /* the definition names no queue, or there are no tasks */

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
    out_bytes(b, "\",\"contact\":", plain + TOKEN_TEXT_LEN, strlen(plain + TOKEN_TEXT_LEN));
    if (m->until_ms != 0)
        put_time(b, ",\"until\":", m->until_ms);
    ADD(b, "}}");
}

static void pack_header(struct buf *form, const char *name, const char *value)
{
    call_pack_header(form, (struct call_span){ name, strlen(name) }, (struct call_span){ value, strlen(value) });
}

/* A push service is called: what it gets says who sends it, and nothing of the person. */
static int push_pack(struct router *r, const struct map_queue *q, const struct msg_turn *m, const struct web_push *w,
                     bool by_other)
{
    struct buf *form = &r->tasking->form, body, who;
    int64_t left_s = m->until_ms != 0 ? (m->until_ms - ev_wall_ms(r->ev)) / 1000 : PUSH_SOON_S;
    char text[40], ttl[24];
    const char *word = turn_word(m);
    int n, rc;

    /* Blanks: both words are as long. */
    n = snprintf(text, sizeof(text), "{\"type\":\"%s\"}%*s", word, (int)(sizeof("turn.soon") - strlen(word)), "");
    snprintf(ttl, sizeof(ttl), "%lld", (long long)(left_s > PUSH_LEAST_S ? left_s : PUSH_LEAST_S));
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

/* NULL: t->form is the call, to be put into `queue`; or why there is none. */
static const char *turn_pack(struct tasking *t, const struct map_queue *q, const struct msg_turn *m,
                      char queue[TASK_NAME_MAX + 1])
{
    char plain[TOKEN_TEXT_LEN + CONTACT_MAX + 1], copy[CONTACT_MAX + 1];
    int by = contact_open(&t->r->keys, m->sealed, m->n_sealed, plain), rc = by < 0 ? by : 0;
    struct web_push w;
    const char *why = rc == 0 ? NULL : "its contact was sealed with another secret";

    buf_reset(&t->form);
    if (rc == 0) {
        strcpy(copy, plain + TOKEN_TEXT_LEN);
        if (q->push_contact[0] != '\0' && web_push_read(&w, (struct slice){ copy, strlen(copy) }) == NULL &&
            web_push_queue(&w, q->turn_queue, queue) && t->r->is_push_service(t->r, queue, w.host)) { /* else of before */
            if (push_pack(t->r, q, m, &w, by > 0) < 0)
                why = "its message cannot be sealed";
        } else {
            strcpy(queue, q->turn_queue);
            post_pack(&t->form, q->name, m, plain);
        }
        explicit_bzero(&w, sizeof(w));
    }
    explicit_bzero(plain, sizeof(plain));
    explicit_bzero(copy, sizeof(copy));
    return why != NULL ? why : t->form.failed ? "there is no memory" : NULL;
}

/* The digest is the key's: what was sealed anew, or is said at another time, is the same word. */
static void turn_fill(struct task_call *c, const char *queue, const struct msg_turn *m)
{
    struct slice form = call_bytes(c, (struct slice){ (char *)c->t->form.data, c->t->form.len }), key;
    struct ask *a = &c->v[0];
    char text[KEY_ROOM];

    key.p = text;
    key.n = (size_t)snprintf(text, sizeof(text), "turn %" PRIu64 "-%" PRIu32 " %s", m->seg, m->number,
                             m->word == TURN_NOW ? "now" : "soon"); /* blanks: no client's key has one */
    key = call_bytes(c, key);
    a->kind = ASK_PUT;
    a->queue = c->queue = (struct slice){ call_copy(c, queue), strlen(queue) };
    a->repeats = true;
    a->is_call = true;
    a->put = (struct task_put){
        .queue = c->queue.p, .key1 = "", .key2 = "", .name = "", .group = "", .own = { .labels = TURN_LABEL },
        .key = { (uint32_t)key.n, (const uint8_t *)key.p },
        .body = { (uint32_t)form.n, (const uint8_t *)form.p },
        .digest = submit_digest(key, true),
    };
}

void turn_heard(struct router *r, node_no node, const struct msg_turn *m)
{
    struct notice_of to = { node, m->word, m->seg, m->number };
    struct tasking *t = r->tasking;
    char queue[TASK_NAME_MAX + 1];
    struct task_call *c;
    struct route_owner o;
    const char *why;

    if (t == NULL || routes_owner(r->routes, m->seg, &o) < 0 || o.queue == NULL ||
        o.queue->map.turn_queue[0] == '\0') {
        turn_failed(r, &to, "", "the queue tells nobody", TURN_NONE_MS);
        return;
    }
    strcpy(queue, o.queue->map.turn_queue);
    why = turn_pack(t, &o.queue->map, m, queue);
    if (why != NULL) {
        turn_failed(r, &to, queue, why, TURN_NONE_MS);
        return;
    }
    c = call_new(t, NULL, 1, t->form.len + ROOM, 0, turn_done);
    if (c == NULL)
        return; /* said again */
    c->notice = to;
    turn_fill(c, queue, m);
    call_begin(c);
}
