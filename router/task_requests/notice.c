/* notice.c: see notice.h. */
#include "router/task_requests/notice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/task/call.h"
#include "common/task/state.h"
#include "common/ticket/task_token.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/submit.h"

#define LABEL    "segq-notice"
#define KEY_ROOM 64
#define ROOM     (TASK_NAME_MAX + KEY_ROOM + sizeof(LABEL) + 16)
#define MORE     (TASK_TOKEN_LEN + 200) /* bytes of the body more than the text has */

#define SPAN(text) ((struct call_span){ (text), sizeof(text) - 1 })

static void say(struct tasking *t, const struct notice_of *to, int code)
{
    struct msg m = { .type = MSG_TASK_NOTICE_ANS };
    const struct node_link *l = node_links_reach(&t->links, to->node);

    m.task_notice_ans = (struct msg_task_notice_ans){
        .part = to->part, .id = to->id, .no = to->no,
        .code = code >= 0 && code < TASK_NCODES ? (uint8_t)code : CODE_BUSY,
    };
    if (l != NULL && l->ch != NULL)
        (void)!rpc_send(l->ch, &m, 0); /* else it is said again, to whom the node reaches */
}

static void done(struct task_call *c, const struct msg *m)
{
    int code = c->v[0].code;

    (void)m;
    c->t->counts.notices += code == CODE_DONE;
    say(c->t, &c->notice, code);
}

/* Writes what the receiver gets; the text is an object that begins with its ended_at. */
static bool pack(struct tasking *t, const struct msg_task_notice *m)
{
    static const char begin[] = "{\"ended_at\":";
    char body[NOTICE_TEXT_MAX + MORE], token[TASK_TOKEN_LEN + 1] = "";
    const char *text = (const char *)m->text.p, *moment, *end;
    int n;

    if (m->text.n < sizeof(begin) || memcmp(text, begin, sizeof(begin) - 1) != 0)
        return false;
    moment = text + sizeof(begin) - 1;
    end = memchr(moment, ',', m->text.n - sizeof(begin) + 1);
    if (end == NULL || end - moment > 40)
        return false;
    task_token_write(m->part, m->no, &t->r->keys.token, token);
    n = snprintf(body, sizeof(body), "{\"type\":\"task.%s\",\"timestamp\":%.*s,\"data\":{\"task\":\"%s\",%.*s}",
                 task_state_word((enum task_state)m->state), (int)(end - moment), moment, token,
                 (int)m->text.n - 1, text + 1);
    buf_reset(&t->form);
    call_pack_begin(&t->form, SPAN("POST"), SPAN("/notices"));
    call_pack_header(&t->form, SPAN("Content-Type"), SPAN("application/json"));
    call_pack_body(&t->form, (struct call_span){ body, (size_t)n });
    return n > 0 && (size_t)n < sizeof(body);
}

static void fill(struct task_call *c, const struct msg_task_notice *m)
{
    struct slice form = call_bytes(c, (struct slice){ (char *)c->t->form.data, c->t->form.len });
    struct slice name = { (char *)(uintptr_t)m->queue, strlen(m->queue) }, key;
    char text[KEY_ROOM];
    struct ask *a = &c->v[0];

    key.p = text;
    key.n = (size_t)snprintf(text, sizeof(text), "%" PRIu32 "-%" PRIu64 "@%" PRId64, m->part, m->no,
                             m->ended_ms);
    key = call_bytes(c, key);
    c->queue = (struct slice){ call_text(c, name), name.n };
    a->kind = ASK_PUT;
    a->queue = c->queue;
    a->repeats = true;
    a->is_call = true;
    a->put = (struct task_put){
        .queue = c->queue.p, .key1 = "", .key2 = "", .name = "", .own = { .labels = LABEL },
        .key = { (uint32_t)key.n, (const uint8_t *)key.p },
        .body = { (uint32_t)form.n, (const uint8_t *)form.p },
        .digest = submit_digest_of_call(form),
    };
}

void notice_begin(struct tasking *t, node_no node, const struct msg_task_notice *m)
{
    struct notice_of to = { node, m->part, m->id, m->no };
    struct task_call *c;

    if (!pack(t, m)) {
        say(t, &to, CODE_INVALID);
        return;
    }
    c = t->form.failed ? NULL : call_new(t, NULL, 1, t->form.len + ROOM, 0, done);
    if (c == NULL)
        return; /* said again */
    c->notice = to;
    fill(c, m);
    call_begin(c);
}
