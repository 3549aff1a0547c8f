/* chain.c: results into the next payload; the next task here, or on its way. */
#include "task/node/chain.h"

#include <inttypes.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/json/json_point.h"
#include "common/task/call.h"
#include "common/wire/codec.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/node/body.h"
#include "task/node/ends.h"
#include "task/node/submissions.h"

#define LOG_MODULE "chains"

/* ---- results into a payload --------------------------------------------------------- */

static struct slice slice_of(const void *p, size_t n)
{
    return (struct slice){ (char *)(uintptr_t)p, n };
}

/* JSON_POINT_FOUND is CHAIN_WHY_UNSAID. */
static uint8_t why_of(enum json_point rc)
{
    static const uint8_t whys[] = {
        [JSON_POINT_FOUND] = CHAIN_WHY_UNSAID,    [JSON_POINT_NO_JSON] = CHAIN_WHY_NO_JSON,
        [JSON_POINT_NOTHING] = CHAIN_WHY_NOTHING, [JSON_POINT_TWICE] = CHAIN_WHY_NOTHING,
        [JSON_POINT_LONG] = CHAIN_WHY_TOO_LARGE,
    };

    return whys[rc];
}

/* The whole result as JSON, of what is kept of it. */
static uint8_t result_of(const struct bytes_of *kept, struct slice *json)
{
    struct reply reply;
    struct result r;

    if (kept->n == 0 || reply_unpack(kept->p, kept->n, &reply) < 0 ||
        result_unpack(reply.rest, reply.rest_n, &r) < 0 || r.length == 0)
        return CHAIN_WHY_NO_RESULT;
    *json = slice_of(r.p, r.n);
    return r.n < r.length ? CHAIN_WHY_TRUNCATED : CHAIN_WHY_UNSAID;
}

/* The form of a call with results in its body. */
static uint8_t fill_call(const struct bytes_of *form, struct slice result, struct buf *out)
{
    struct call_span rest, name, value;
    struct buf body;
    struct call c;
    uint8_t why;

    if (call_unpack(form->p, form->n, &c) < 0)
        return CHAIN_WHY_REFUSED;
    buf_init(&body);
    why = why_of(json_fill(slice_of(c.body.p, c.body.n), result, CHAIN_BODY_MAX, &body));
    if (why == 0) {
        call_pack_begin(out, c.method, c.path);
        rest = c.headers;
        while (call_header_next(&rest, &name, &value))
            call_pack_header(out, name, value);
        call_pack_body(out, (struct call_span){ (const char *)body.data, body.len });
    }
    out->failed |= body.failed;
    buf_fini(&body);
    return why == 0 && out->len > CHAIN_BODY_MAX + CALL_HEAD_MAX ? CHAIN_WHY_TOO_LARGE : why;
}

static uint8_t fill(struct task_put *put, const struct bytes_of *kept, struct buf *out)
{
    struct slice result;
    uint8_t why;

    if ((put->chain & CHAIN_HOLES) == 0)
        return CHAIN_WHY_UNSAID;
    why = result_of(kept, &result);
    if (why == 0)
        why = (put->chain & CHAIN_CALL) != 0
                  ? fill_call(&put->body, result, out)
                  : why_of(json_fill(slice_of(put->body.p, put->body.n), result, CHAIN_BODY_MAX, out));
    put->body = (struct bytes_of){ (uint32_t)out->len, out->data };
    put->chain &= (uint8_t)~CHAIN_HOLES;
    return why;
}

/* ---- the next one -------------------------------------------------------------------- */

static const struct chain *waiting_chain(const struct part *p, task_no no)
{
    task_slot slot = p->e.chains.by_slot.n > 0 ? task_find(&p->e.store, no) : SLOT_NONE;
    const struct chain *k = slot != SLOT_NONE ? chains_of(&p->e.chains, slot) : NULL;

    return k != NULL && k->state == CHAIN_WAITS ? k : NULL;
}

int tasktab_chain_ready(const struct part *p, task_no no, const struct bytes_of *kept,
                        struct chain_step *next)
{
    const struct chain *k = waiting_chain(p, no);
    struct task_put *put;
    int rc;

    next->any = k != NULL;
    if (k == NULL)
        return 0;
    next->why = 0;
    arena_init(&next->mem);
    buf_init(&next->body);
    rc = msg_decode(MSG_TASK_PUT, (const uint8_t *)k->then, k->n, &next->mem, &next->m);
    if (rc == SQ_ENOMEM)
        return rc;
    if (rc < 0 || next->m.task_put.n != 1) {
        next->why = CHAIN_WHY_REFUSED;
        return 0;
    }
    put = &next->m.task_put.v[0];
    put->after_part = p->no;
    put->after_no = no;
    next->why = fill(put, kept, &next->body);
    return next->body.failed ? SQ_ENOMEM : 0;
}

void tasktab_chain_over(struct chain_step *next)
{
    if (!next->any)
        return;
    arena_fini(&next->mem);
    buf_fini(&next->body);
}

/* On its way. False: there is no room, or no memory. */
static bool relay(struct part *p, task_no no, const struct chain_step *next)
{
    struct notice_text text = { .no = no };
    struct buf b;
    bool ok;

    buf_init(&b);
    ok = msg_encode(&next->m, &b) == 0 && b.len <= RELAY_TEXT_MAX;
    text.p = (const char *)b.data;
    text.n = b.len;
    ok = ok && notices_add(&p->relays, &text, &p->e.log);
    buf_fini(&b);
    return ok;
}

/* Here, or on its way; what came of it into *is. */
static void submit(struct part *p, task_no no, const struct chain_step *next, struct chain *is)
{
    const struct task_put *put = &next->m.task_put.v[0];
    bool here = put->part == p->no && ((put->chain & CHAIN_CALL) != 0) == (p->endpoint_name[0] != 0);

    if (here && tasktab_put_here(p, put, &is->next_no) == 0) {
        is->state = CHAIN_BEGUN;
        is->next_part = p->no;
    } else if (relay(p, no, next)) {
        is->state = CHAIN_SENT;
    } else {
        is->state = CHAIN_FAILED;
        is->why = CHAIN_WHY_NO_ROOM;
    }
}

static void note(struct part *p, task_no no, const struct chain *is)
{
    p->tab->n.chains_begun += is->state == CHAIN_BEGUN;
    p->tab->n.chains_failed += is->state == CHAIN_FAILED;
    if (is->state == CHAIN_FAILED)
        log_warn("event=chain_failed id=%" PRIu32 "-%" PRIu64 " why=%s", p->no, no,
                 chain_why_word(is->why));
    (void)!engine_chain(&p->e, no, is); /* needs no memory but the log's; the task may have gone */
}

void tasktab_chain_goes(struct part *p, task_no no, const struct chain_step *next)
{
    const struct chain *k = next->any ? waiting_chain(p, no) : NULL;
    struct chain is;

    if (k == NULL)
        return;
    is = (struct chain){ .after_part = k->after_part, .after_no = k->after_no,
                         .state = CHAIN_FAILED, .why = next->why };
    if (next->why == 0)
        submit(p, no, next, &is);
    note(p, no, &is);
    p->due = p->tab->now.ms; /* a hand-over leaves with this turn */
}

/* INVALID: a router of an older release, which knows no chains. */
void tasktab_chain_answered(struct part *p, const struct msg_task_notice_ans *m)
{
    const struct notice *x = notices_sent(&p->relays, m->id, m->no);
    bool never = m->code == CODE_MISMATCH || m->code == CODE_CONFLICT;
    bool done = m->code == CODE_DONE || m->code == CODE_SAME;
    task_slot slot = task_find(&p->e.store, m->no);
    const struct chain *k = slot != SLOT_NONE ? chains_of(&p->e.chains, slot) : NULL;
    struct chain is;

    if (x == NULL)
        return; /* said before, or to a former owner */
    if (!done && !never) {
        notices_refused(&p->relays, x, p->tab->now.ms);
        return;
    }
    notices_over(&p->relays, x, never, &p->e.log);
    is = k != NULL ? *k : (struct chain){ 0 };
    is.state = done ? CHAIN_BEGUN : CHAIN_FAILED;
    is.why = done ? 0 : CHAIN_WHY_REFUSED;
    is.next_part = done ? m->to_part : 0;
    is.next_no = done ? m->to_no : 0;
    note(p, m->no, &is);
}
