/* ends.c: a line for each; two lists in the order of the ends: what waits, and what was sent. */
#include "task/node/ends.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/trail/trail_files.h"
#include "task/engine/look.h"
#include "task/node/state.h"

#define LOG_MODULE "notices"
#define AGAIN_MS   1000  /* behind a refusal, or without a router */
#define ANSWER_MS  10000 /* a router that has not answered by then is not waited for */

/* ---- lines: their members, one after another ---------------------------------------- */

static void put_id(struct jline *o, const struct task_end *end)
{
    jline_name(o, "id");
    *o->p++ = '"';
    o->p = text_u64(o->p, end->part);
    *o->p++ = '-';
    o->p = text_u64(o->p, end->no);
    *o->p++ = '"';
}

static void put_key(struct jline *o, const struct task_end *end)
{
    char key[KEY_TEXT_MAX + 1];
    size_t n = strnlen(end->key1, TASK_NAME_MAX), below = strnlen(end->key2, TASK_NAME_MAX);

    if (n == 0)
        return;
    memcpy(key, end->key1, n);
    if (below > 0) {
        key[n++] = '/';
        memcpy(key + n, end->key2, below);
    }
    jline_text(o, "key", key, n + below);
}

static void put_labels(struct jline *o, const char *labels)
{
    if (*labels == 0)
        return;
    jline_name(o, "labels");
    for (const char *p = labels; *p != 0; p += *p == ',') {
        size_t n = strcspn(p, ",");

        *o->p++ = p == labels ? '[' : ',';
        jline_quoted(o, p, n);
        p += n;
    }
    *o->p++ = ']';
}

static void put_known(struct jline *o, const char *name, int64_t wall_ms)
{
    if (wall_ms > 0)
        jline_moment(o, name, wall_ms);
}

size_t archive_line(const struct task_end *end, char *out)
{
    const char *state = task_state_word(end->state);
    struct jline o = { .p = out };

    jline_moment(&o, end->state == TASK_RUNNING ? "started_at" : "ended_at", end->ended_ms);
    put_id(&o, end);
    jline_text(&o, "queue", end->queue, strnlen(end->queue, TASK_NAME_MAX));
    put_key(&o, end);
    put_labels(&o, end->labels);
    jline_u64(&o, "priority", end->priority);
    jline_text(&o, "state", state, strlen(state));
    jline_u64(&o, "attempts", end->attempts);
    put_known(&o, "entered_at", end->entered_ms);
    put_known(&o, "started_at", end->started_ms);
    if (end->why[0] != 0)
        jline_text(&o, "why", end->why, strlen(end->why));
    if (end->status != 0)
        jline_u64(&o, "http_status", end->status);
    jline_end(&o);
    assert(o.p - out <= ARCHIVE_LINE_MAX);
    return (size_t)(o.p - out);
}

/* ---- notices ----------------------------------------------------------------------- */

void notices_init(struct notices *s, bool relays)
{
    *s = (struct notices){ .next_id = relays ? RELAY_IDS : 1, .relays = relays };
    list_init(&s->later);
    list_init(&s->waiting);
    list_init(&s->sent);
    map_init(&s->by_id, 0); /* our own numbers */
}

static struct list *list_of(struct notices *s, const struct notice *x)
{
    return x->peer != 0 ? &s->sent : x->late ? &s->later : &s->waiting;
}

static void take_out(struct notices *s, struct notice *x)
{
    list_remove(list_of(s, x), &x->in);
    (void)map_del(&s->by_id, x->id);
    s->bytes -= sizeof(*x) + x->n;
    free(x);
}

void notices_fini(struct notices *s)
{
    list_each_of (&s->waiting, struct notice, in, x)
        take_out(s, x);
    list_each_of (&s->later, struct notice, in, z)
        take_out(s, z);
    list_each_of (&s->sent, struct notice, in, y)
        take_out(s, y);
    map_fini(&s->by_id);
}

static bool is_notice(const struct notices *s, const struct trec *r)
{
    if (s->relays)
        return r->lo >= RELAY_IDS && r->name.n <= RELAY_TEXT_MAX;
    return r->lo != 0 && r->lo < RELAY_IDS && r->name.n <= NOTICE_TEXT_MAX && r->state < TASK_NSTATES &&
           (r->kind == TREC_NOTICE_START ? r->state == TASK_RUNNING && r->lease != 0
                                      : r->state == TASK_FREE || task_state_is_final((enum task_state)r->state));
}

static int apply_notice(struct notices *s, const struct trec *r)
{
    struct notice *x;

    if (!is_notice(s, r) || r->name.n == 0 || r->until > RECUR_AT_MAX ||
        map_get_ptr(&s->by_id, r->lo) != NULL)
        return SQ_EPROTO;
    x = malloc(sizeof(*x) + r->name.n);
    if (x == NULL || map_set_ptr(&s->by_id, r->lo, x) < 0) {
        free(x);
        return SQ_ENOMEM;
    }
    *x = (struct notice){ .id = r->lo, .no = r->no, .state = (uint8_t)r->state,
                          .ended_ms = (int64_t)r->until, .start = r->lease, .n = r->name.n };
    memcpy(x->text, r->name.p, x->n);
    list_push_back(&s->waiting, &x->in);
    s->next_id = u64_max(s->next_id, r->lo + 1);
    s->bytes += sizeof(*x) + x->n;
    return 0;
}

static int apply_notify(struct notices *s, const struct trec *r)
{
    if (r->name.n > TASK_NAME_MAX)
        return SQ_EPROTO;
    copy_text(s->queue, r->name.n + 1, r->name.p);
    s->starts = r->kind == TREC_NOTIFY_STARTS;
    return 0;
}

static int apply_gone(struct notices *s, const struct trec *r)
{
    struct notice *x = map_get_ptr(&s->by_id, r->lo);

    if (x == NULL)
        return SQ_EPROTO;
    take_out(s, x);
    return 0;
}

int notices_apply(struct notices *s, const struct trec *r)
{
    assert(notices_has_record(r->kind));
    switch (r->kind) {
    case TREC_NOTIFY:
    case TREC_NOTIFY_STARTS:
        return apply_notify(s, r);
    case TREC_NOTICE:
    case TREC_NOTICE_START:
    case TREC_RELAY:
        return apply_notice(s, r);
    default:
        return apply_gone(s, r);
    }
}

static int perform(struct notices *s, const struct trec *r, struct buf *log)
{
    int rc = notices_apply(s, r);

    if (rc == 0)
        trec_append(r, log);
    return rc;
}

static uint8_t kind_of(const struct notices *s, uint64_t start)
{
    return s->relays ? TREC_RELAY : start != 0 ? TREC_NOTICE_START : TREC_NOTICE;
}

static void put(const struct notices *s, const struct notice *x, struct buf *out)
{
    struct trec r = { .kind = kind_of(s, x->start), .lo = x->id, .no = x->no, .state = x->state,
                      .until = (uint64_t)x->ended_ms, .name = { x->text, x->n }, .lease = x->start };

    trec_append(&r, out);
}

static struct trec notify(const char *queue, bool starts)
{
    return (struct trec){ .kind = starts ? TREC_NOTIFY_STARTS : TREC_NOTIFY,
                          .name = { queue, (uint32_t)strlen(queue) } };
}

void notices_tell(struct notices *s, const char *queue, bool starts, struct buf *log)
{
    struct trec r = notify(queue, starts);

    if (strcmp(s->queue, queue) != 0 || s->starts != starts)
        (void)!perform(s, &r, log); /* needs no memory but the log's */
}

void notices_snapshot(const struct notices *s, struct buf *out)
{
    struct trec r = notify(s->queue, s->starts);

    if (s->queue[0] != 0)
        trec_append(&r, out);
    list_each_of (&s->sent, struct notice, in, x)
        put(s, x, out);
    list_each_of (&s->later, struct notice, in, z)
        put(s, z, out);
    list_each_of (&s->waiting, struct notice, in, y)
        put(s, y, out);
}

bool notices_add(struct notices *s, const struct notice_text *t, struct buf *log)
{
    struct trec r = { .kind = kind_of(s, t->start), .lo = s->next_id, .no = t->no,
                      .state = t->state, .until = (uint64_t)t->ended_ms, .lease = t->start,
                      .name = { t->p, (uint32_t)t->n } };
    bool ok = notices_n(s) < (t->start != 0 ? NOTICES_MAX / 2 : NOTICES_MAX) &&
              (!s->relays || s->bytes + t->n <= CHAINS_BYTES_MAX) && perform(s, &r, log) == 0;

    s->dropped += !ok;
    if (!ok && !s->relays && (s->dropped & (s->dropped - 1)) == 0) /* 1, 2, 4, 8 ... */
        log_warn("event=notice_dropped queue=%s dropped=%" PRIu64, s->queue, s->dropped);
    return ok;
}

/* ---- on their way ------------------------------------------------------------------ */

/* Puts it back, before all others. */
static void back(struct notices *s, struct notice *x)
{
    list_remove(&s->sent, &x->in);
    x->peer = 0;
    list_push_front(list_of(s, x), &x->in);
}

/* Puts back those that went to this router, or by then: the last one first, so the order stays. */
static void all_back(struct notices *s, peer_no peer, msec_t sent_by)
{
    struct list_node *before;

    for (struct list_node *it = list_last(&s->sent); it != NULL; it = before) {
        struct notice *x = container_of(it, struct notice, in);

        before = list_prev(&s->sent, it);
        if (x->peer == peer || x->sent_ms <= sent_by)
            back(s, x);
    }
}

/* The list whose first one may go now; NULL: none may. */
static struct list *may_go(struct notices *s, msec_t now)
{
    if (s->sent.n >= NOTICES_AT_ONCE || now < s->quiet_ms)
        return NULL;
    if (s->waiting.n > 0 && (s->relays || now >= s->held_ms))
        return &s->waiting;
    return s->later.n > 0 && now >= s->held_ms ? &s->later : NULL;
}

const struct notice *notices_send(struct notices *s, peer_no peer, msec_t now)
{
    struct list *from;
    struct notice *x;

    assert(peer != 0);
    all_back(s, 0, now - ANSWER_MS);
    from = may_go(s, now);
    if (from == NULL)
        return NULL;
    x = container_of(list_first(from), struct notice, in);
    list_remove(from, &x->in);
    list_push_back(&s->sent, &x->in);
    x->peer = peer;
    x->sent_ms = now;
    return x;
}

bool notices_say(struct notices *s, part_no part, peer_no peer, msec_t now, struct outbox *out)
{
    const struct notice *x = notices_send(s, peer, now);
    struct msg_task_notice *m;
    struct bytes_of *text;

    if (x == NULL)
        return false;
    m = &outbox_add(out, peer, MSG_TASK_NOTICE)->task_notice;
    *m = (struct msg_task_notice){ .part = part, .id = x->id, .no = x->no, .state = x->state,
                                   .ended_ms = x->ended_ms, .start = x->start };
    m->queue = arena_strdup(&out->mem, s->queue);
    text = s->relays ? &m->put : x->state == TASK_FREE ? &m->group : &m->text;
    text->p = arena_memdup(&out->mem, x->text, x->n);
    text->n = text->p != NULL ? x->n : 0;
    if (m->queue == NULL)
        m->queue = ""; /* no router has such a queue: it is said again */
    return true;
}

const struct notice *notices_sent(const struct notices *s, uint64_t id, task_no no)
{
    const struct notice *x = map_get_ptr(&s->by_id, id);

    return x != NULL && x->peer != 0 && x->no == no ? x : NULL;
}

void notices_over(struct notices *s, const struct notice *x, bool never, struct buf *log)
{
    struct trec r = { .kind = s->relays ? TREC_RELAY_GONE : TREC_NOTICE_GONE, .lo = x->id };

    s->taken += !never;
    s->dropped += never;
    (void)!perform(s, &r, log); /* needs no memory but the log's */
}

void notices_refused(struct notices *s, const struct notice *x, msec_t now)
{
    struct notice *y = map_get_ptr(&s->by_id, x->id);

    back(s, y);
    if (s->relays) { /* behind all others */
        list_remove(list_of(s, y), &y->in);
        y->late = true;
        list_push_back(&s->later, &y->in);
    }
    s->held_ms = now + AGAIN_MS;
}

void notices_answered(struct notices *s, const struct msg_task_notice_ans *m, msec_t now,
                      struct buf *log)
{
    const struct notice *x = notices_sent(s, m->id, m->no);
    /* MISMATCH: the queue has a task under its key with another text: an earlier router's, before the
     * tokens' key was changed, say. It would be refused until the key is forgotten. */
    bool never = m->code == CODE_MISMATCH || m->code == CODE_CONFLICT ||
                 (m->code == CODE_INVALID && x != NULL && x->state != TASK_FREE);

    if (x == NULL)
        return; /* said before, or to a former owner */
    if (never)
        log_error("event=notice_refused queue=%s id=%" PRIu32 "-%" PRIu64, s->queue, m->part, m->no);
    if (never || m->code == CODE_DONE || m->code == CODE_SAME)
        notices_over(s, x, never, log);
    else
        notices_refused(s, x, now);
}

void notices_unheard(struct notices *s, const struct msg_task_notice_ans *m)
{
    if (notices_sent(s, m->id, m->no) != NULL)
        back(s, map_get_ptr(&s->by_id, m->id));
}

void notices_lost(struct notices *s, peer_no peer)
{
    all_back(s, peer, -1);
}

void notices_hold(struct notices *s, msec_t now)
{
    s->quiet_ms = now + AGAIN_MS;
}

msec_t notices_idle_ms(const struct notices *s, msec_t now)
{
    msec_t late = MSEC_NEVER;

    if (s->sent.n > 0)
        late = container_of(list_first(&s->sent), struct notice, in)->sent_ms + ANSWER_MS;
    if (s->sent.n < NOTICES_AT_ONCE && s->waiting.n > 0)
        late = ms_min(late, ms_max(s->quiet_ms, s->relays ? 0 : s->held_ms));
    if (s->sent.n < NOTICES_AT_ONCE && s->later.n > 0)
        late = ms_min(late, ms_max(s->quiet_ms, s->held_ms));
    return late == MSEC_NEVER ? MSEC_NEVER : ms_max(late - now, 0);
}

/* ---- heard of the engine ------------------------------------------------------------ */

/* Tells it in another queue, if there is one, and it is no notice itself. start: 0: it is an end. */
static void notice(struct part *p, const struct task_end *end, uint64_t start)
{
    const struct task_own own = { .labels = end->labels };
    char line[ARCHIVE_LINE_MAX];
    struct notice_text text = { .no = end->no, .state = (uint8_t)end->state,
                                .ended_ms = end->ended_ms, .start = start, .p = line };

    static_assert(ARCHIVE_LINE_MAX <= NOTICE_TEXT_MAX, "a line is a notice");
    if (p->notices.queue[0] == 0 || own_has_label(&own, NOTICE_LABEL, strlen(NOTICE_LABEL)))
        return;
    text.n = archive_line(end, line) - 1; /* without its newline */
    (void)notices_add(&p->notices, &text, &p->e.log);
}

#define GROUP_LINE_MAX (6 * 2 * TASK_NAME_MAX + 400)

void tasktab_group_over(struct part *p, const struct group *k)
{
    static const enum task_state finals[] = { TASK_SUCCEEDED, TASK_DEAD, TASK_CANCELLED, TASK_EXPIRED };
    char line[GROUP_LINE_MAX];
    struct jline o = { .p = line };
    struct notice_text text = { .no = k->id, .ended_ms = tasktab_unix(p, p->e.at), .p = line };

    if (p->notices.queue[0] == 0)
        return;
    jline_moment(&o, "ended_at", text.ended_ms);
    jline_text(&o, "queue", k->text, k->queue_n);
    jline_text(&o, "group", k->text + k->queue_n, k->name_n);
    for (size_t i = 0; i < ARRAY_LEN(finals); i++)
        jline_u64(&o, task_state_word(finals[i]), k->n[finals[i]]);
    jline_end(&o);
    text.n = (size_t)(o.p - line) - 1; /* without its newline */
    assert(text.n < sizeof(line));
    (void)notices_add(&p->notices, &text, &p->e.log);
}

static struct task_end end_of(const struct part *p, task_slot slot, const struct task_view *v)
{
    return (struct task_end){
        .part = p->no, .no = task_number(&p->e.store, slot), .state = v->state, .why = "",
        .ended_ms = tasktab_unix(p, p->e.at),
        .queue = v->queue, .key1 = v->key1, .key2 = v->key2,
        .labels = v->own != NULL && v->own->labels != NULL ? v->own->labels : "",
        .priority = v->priority, .attempts = v->attempts,
        .entered_ms = tasktab_unix(p, v->entered_ms),
    };
}

/* For engine.started. */
static void tell_start(void *part, const struct engine *e, task_slot slot)
{
    struct task_view v;
    struct task_end end;

    look_at_task(e, slot, &v);
    end = end_of(part, slot, &v);
    notice(part, &end, task_at(&e->store, slot)->lease);
}

/* For engine.ended. */
static void tell_end(void *part, const struct engine *e, task_slot slot)
{
    struct part *p = part;
    struct attempt past[ATTEMPTS_KEPT + 1];
    struct task_view v;
    uint32_t earlier;
    unsigned n = look_at_history(e, slot, past, &earlier);
    struct task_end end;

    look_at_task(e, slot, &v);
    end = end_of(p, slot, &v);
    end.status = p->tab->answered;
    if (n > 0) /* else there was no memory to note it */
        end.why = attempt_end_word(past[n - 1].end);
    while (n > 0 && end.started_ms == 0)
        end.started_ms = tasktab_unix(p, past[--n].started);
    if (p->tab->o.ended != NULL)
        p->tab->o.ended(p->tab->o.ended_ctx, &end);
    notice(p, &end, 0);
    if (groups_of(&e->groups, slot) != NULL && group_is_over(groups_of(&e->groups, slot)))
        tasktab_group_over(p, groups_of(&e->groups, slot));
}

void tasktab_hear_ends(struct part *p)
{
    p->e.ended = p->tab->o.ended != NULL || p->notices.queue[0] != 0 ? tell_end : NULL;
    p->e.started = p->notices.starts && p->notices.queue[0] != 0 ? tell_start : NULL;
}
