/* notice.c: each becomes a submission. */
#include "router/task_requests/notice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/task/call.h"
#include "common/task/state.h"
#include "common/ticket/token.h"
#include "common/wire/codec.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/submission.h"

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
    struct slice name = slice_of(m->queue), key;
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
        .key = bytes_in(key),
        .body = bytes_in(form),
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
    c->queue = slice_of(a->put.queue);
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
