/* callnodes.h: the nodes of moverig.h call a target for their tasks, instead of workers that take
 * them: an endpoint whose rate and slots the manager's shares divide, calls that go on at the target
 * while their node is killed or their partition moves, and what is judged when a request arrives
 * there, and behind each turn:
 *   J3   (task, attempt) is at the target once at most, and nothing behind an end that was written
 *   J4   never more at the target than slots, over all nodes; what the shares allow together is
 *        never more than the endpoint bears
 *   J5   starts of all nodes in any ten seconds: its rate's, and each node's burst
 *   J23  units of these starts in any ten seconds, and in any minute: what the endpoint's rates in units let
 *        begin, and what the largest call of each node has; the nodes' parts are not more than the whole
 *   J28  units of these starts in each minute and hour of the clock: what the endpoint's calendar windows have, or
 *        what a single call of more has
 *   J33  requests beyond what their provider answers in a window, and says is left: no more than slots, which are
 *        those that had begun when nobody had heard of it
 *   J15  a node whose breaker is open sends nothing; while it probes, four at most
 *   J22  answers that are told while they come (tests/lib/callreaders.h)
 *   J37  large bodies (tests/lib/movelarge.h)
 *   J18  what is sent is of a partition in service there
 *   affinity  on calm days a key's call passes over its first target only if that has calls of the node */
#ifndef SEGQ_TESTS_CALLNODES_H
#define SEGQ_TESTS_CALLNODES_H

#include "tests/lib/moverig.h"
#undef each_endpoint /* the manager's: those of a node are meant here */
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "tests/lib/callreaders.h"
#include "tests/lib/calltarget.h"

#define CN_VISITS   20000
#define CN_SLOTS    6
#define CN_RATE     20 /* a second */
#define CN_BURST    4
#define CN_WINDOW   10000
#define CN_DEADLINE 3000
#define CN_MORE     10000 /* a lease ends so long behind the deadline (task/node/calls.c) */
#define CN_CONNECT  400   /* a request is on its way to the target, at most */
#define CN_ATTEMPTS 40 /* of 63: what costs nothing adds to it, and behind 63 attempts have the same number */
#define CN_SLOTS_A  4 /* fewer than the endpoint may have at all its targets */
#define CN_COST     30 /* the largest, which is more than the first rate's burst */
#define CN_UNITS    40 /* a second, */
#define CN_ROOM     20 /* of which so many at once; */
#define CN_MINUTE   1800 /* and in a minute, */
#define CN_MINUTE_ROOM 200
#define CN_UNITS_B  12 /* a second, and at once, of target b */
#define CN_CALENDAR 200 /* in each minute of the clock, */
#define CN_HOUR     6000 /* and hour */
#define CN_DAY      900000
#define CN_LARGE    250 /* the largest call then */
#define CN_TARGETS  3 /* "http://a/" to "http://c/", which bear CN_SLOTS_A, 2 and 1 */

struct cn_visit { /* a request: on its way, at the target, over */
    int node;
    uint64_t call; /* of the node; 0: its process is gone */
    unsigned task;
    task_no no;
    uint32_t attempt;
    msec_t began, comes, at; /* comes: the first byte arrives; at: the answer goes */
    bool came, over;
    unsigned target; /* 0 .. CN_TARGETS - 1, by its url */
    uint64_t cost;
    struct call_answer answer;
    char body[24];
    int file; /* of a large body: a descriptor; 0: none */
    uint32_t length, told; /* of one that is told piece by piece: 0: it is not */
};

struct cn_end { /* of a task, by a node's turn that is not written yet */
    task_no no;
    part_no part;
};

struct cn {
    struct mv *w;
    struct calls calls[PR_NODES];
    struct cn_visit visit[CN_VISITS];
    unsigned n_visits, first; /* all before `first` are over */
    msec_t start[CN_VISITS];  /* of each request that a node sent, in their order */
    unsigned n_starts, window; /* window: the first start within CN_WINDOW */
    enum mood mood;
    bool well; /* the mood stays as it is */
    bool targets;          /* the endpoint has targets, most of the time */
    bool discovers;        /* which are the addresses 10.0.0.1 to .3 of a name, as they are told from time to time */
    bool affinity;         /* by key, as far as slots go */
    bool calm;             /* all nodes and targets are well */
    bool units;            /* it has rates in units, and so has target b */
    bool windows;          /* its rates are of windows of the calendar, and calls have up to CN_LARGE units; */
    bool by_budget;        /* that of a minute is its budget's */
    unsigned provides;     /* its provider answers so many in CN_WINDOW, and says what is left; 0: any, nothing */
    msec_t provided_at;    /* the begin of a window: */
    unsigned provided, refused_by; /* in it: requests that were answered; and 429 */
    uint64_t refusals, answered; /* ever */
    bool away[CN_TARGETS]; /* it lets nobody connect */
    bool done_there[MV_TASKS], final[MV_TASKS], refused[MV_TASKS];
    struct cn_end end[PR_NODES][MV_TASKS];
    unsigned n_ends[PR_NODES];
    struct cr readers;
    uint8_t bytes[CR_BYTES]; /* of the answer at hand */
    uint64_t moved; /* answers whose partition another node has by then */
    uint64_t affine, astray; /* calls at the first target of their key; at another one */
};

static struct cn *cn_of; /* one world at a time, as moverig's */

/* ---- the node ------------------------------------------------------------------------ */

static inline void cn_settle(struct cn *c, int i, struct going_call *g)
{
    struct tasktab *t = c->w->node[i].t;
    const struct part *p = tasktab_part(t, g->part);

    c->moved += p == NULL || p->life != PART_OWNED;
    if (!tasktab_call_ends(t, mv_now(c->w), g))
        return;
    tasktab_pass_end(t, g, &c->w->node[i].out);
    calls_end(&c->calls[i], g, mv_now(c->w).ms);
}

static inline struct going_call *cn_going(struct cn *c, const struct cn_visit *v)
{
    return v->call != 0 ? calls_at(&c->calls[v->node], v->call) : NULL;
}

static inline void cn_close(struct cn_visit *v)
{
    if (v->file > 0)
        close(v->file);
    v->file = 0;
}

/* The node hears it; it settles when it can. */
static inline void cn_hears(struct cn *c, struct cn_visit *v, const struct call_answer *a)
{
    struct going_call *g = cn_going(c, v);

    v->over = true;
    cn_close(v);
    if (g == NULL)
        return;
    tasktab_call_answered(c->w->node[v->node].t, mv_now(c->w), g, a);
    cn_settle(c, v->node, g);
}

/* It is charged: it found a connection, and was not told 429. */
static inline bool cn_pays(const struct cn_visit *v)
{
    return !v->over || (v->answer.fault != CALL_CONNECT && v->answer.status != 429);
}

/* Behind a start. */
static inline void cn_look_at_window(const struct cn *c, msec_t length, uint64_t most)
{
    msec_t now = mv_now(c->w).ms, from = now - now % length;
    uint64_t units = 0;
    unsigned n = 0;

    for (unsigned k = c->n_visits; k-- > 0 && c->visit[k].began >= from;)
        if (cn_pays(&c->visit[k])) {
            units += c->visit[k].cost;
            n++;
        }
    if (units > most && n > 1)
        MV_BAD(c->w, "J28: %lu units in a window of %lu", units, most);
}

static inline void cn_look_at_breaker(struct cn *c, int i, const struct endpoint *ep)
{
    if (ep->breaker.state == BREAKER_OPEN && !ep->def.targets) /* a url gave way to targets */
        MV_BAD(c->w, "J15: node %d sends while its breaker is open", i);
    if (ep->breaker.probes > BREAKER_PROBES_MAX)
        MV_BAD(c->w, "J15: node %d has %u probes", i, ep->breaker.probes);
}

/* The first target of a key, of those that are well at this node; NULL. */
static inline const struct endpoint *cn_first(const struct endpoint *ep, const char *key, msec_t now)
{
    struct target_room room[TARGET_NO_MAX];
    struct affine at[TARGET_NO_MAX];
    const struct endpoint *of[TARGET_NO_MAX];
    size_t n = 0, first;

    list_each_of (&ep->targets, struct endpoint, in_of, x) {
        if (x->def.serial == 0 || x->def.paused || endpoint_is_down(x) || now < x->held || now < x->aside)
            continue;
        room[n] = (struct target_room){ .free = 1, .weight = x->def.weight };
        at[n] = (struct affine){ x->url_hash, true };
        of[n++] = x;
    }
    first = affinity_pick(room, at, n, affinity_hash(key, strlen(key)), 10000).first;
    return first != TARGET_NONE ? of[first] : NULL;
}

static inline void cn_look_at_affinity(struct cn *c, const struct going_call *g, unsigned task)
{
    const struct endpoint *first;
    char key[8];

    if (g->at == g->endpoint || g->endpoint->def.affinity != AFFINITY_KEY || g->by_hand || !c->w->keys)
        return;
    snprintf(key, sizeof(key), "k%u", task % MV_KEYS);
    first = cn_first(g->endpoint, key, mv_now(c->w).ms);
    c->affine += first == g->at;
    c->astray += first != g->at;
    if (c->calm && first != NULL && first != g->at && first->def.max_concurrent > 0 && first->running == 0)
        MV_BAD(c->w, "affinity: task %u is not at the idle target of its key", task);
}

static inline unsigned cn_target_no(const struct msg_endpoint *d)
{
    return d->address[0] != 0 ? (unsigned)(d->address[7] - '1') : (unsigned)(d->url[7] - 'a');
}

/* As open_file() there does it. 0: it has none; -1: it cannot be read now. */
static inline int cn_open_file(struct mv *w, int i, const struct going_call *g, const struct taken_row *row)
{
    struct call call;
    unsigned task;
    int fd;

    if (!w->larges || !ml_task_of(row->body.p, row->body.n, &task) || call_unpack(row->body.p, row->body.n, &call) < 0)
        return 0;
    fd = ml_fails() ? SQ_ESYS : large_read(ml_of->large[i], &call.file, g->part, g->no);
    if (fd == SQ_EUNKNOWN)
        MV_BAD(w, "J37: node %d calls for task %u, and has not its file", i, task);
    return fd < 0 ? -1 : fd;
}

/* As task/service/caller.c does it with a task whose START is written. */
static inline void cn_self(struct mv *w, int i, const struct out_item *it)
{
    struct cn *c = cn_of;
    struct going_call *g = calls_at(&c->calls[i], it->rid);
    const struct msg_task_take_ans *m = &it->m.task_take_ans;
    msec_t now = mv_now(w).ms;
    struct call_answer late = { .fault = CALL_LOCAL };
    struct cn_visit *v = &c->visit[c->n_visits];
    int file;

    if (g == NULL)
        return;
    if (m->n != 1 || tasktab_call_is_cut(w->node[i].t, g)) {
        calls_end(&c->calls[i], g, now);
        return;
    }
    g->step = CALL_SENT;
    if (g->until - CN_MORE <= now) {
        tasktab_call_answered(w->node[i].t, mv_now(w), g, &late);
        return;
    }
    if (c->n_visits + 1 == CN_VISITS)
        abort(); /* CN_VISITS is too low */
    file = cn_open_file(w, i, g, &m->v[0]);
    if (file < 0) {
        tasktab_call_answered(w->node[i].t, mv_now(w), g, &late);
        return;
    }
    cn_look_at_breaker(c, i, g->at);
    g->endpoint->n.sent++;
    g->at->n.sent += g->at != g->endpoint;
    *v = (struct cn_visit){ .node = i, .call = g->id, .no = g->no, .attempt = g->attempt,
                            .began = now, .file = file,
                            .comes = now + (msec_t)rng_below(&w->r->rng, CN_CONNECT) };
    v->task = mv_body_task(w, &m->v[0]);
    cn_look_at_affinity(c, g, v->task);
    v->cost = mv_cost(w, v->task);
    if (g->at->def.serial != 0 && g->at->def.url[0] != 0)
        v->target = cn_target_no(&g->at->def);
    c->start[c->n_starts++] = now;
    c->n_visits++;
    if (c->windows) {
        cn_look_at_window(c, 60000, CN_CALENDAR);
        cn_look_at_window(c, 3600000, CN_HOUR);
    }
}

static inline void cn_final(struct mv *w, int i, const struct task_end *end)
{
    struct cn *c = cn_of;

    (void)w;
    if (c->n_ends[i] < MV_TASKS)
        c->end[i][c->n_ends[i]++] = (struct cn_end){ end->no, end->part };
}

/* The process ends: its calls are forgotten, and what is at the target goes on there. */
static inline void cn_dies(struct mv *w, int i)
{
    struct cn *c = cn_of;

    (void)w;
    c->n_ends[i] = 0;
    for (unsigned k = c->first; k < c->n_visits; k++)
        if (c->visit[k].node == i) {
            c->visit[k].call = 0;
            c->visit[k].over |= !c->visit[k].came;
            cn_close(&c->visit[k]);
        }
    ml_dies(i);
    calls_fini(&c->calls[i]);
    calls_init(&c->calls[i]);
}

/* A call of a partition that has left is not sent. */
static inline bool cn_forget(struct mv *w, int i, const struct out_item *it)
{
    struct cn *c = cn_of;
    struct going_call *g = calls_at(&c->calls[i], it->rid);

    if (g == NULL || w->node[i].mine[g->part] != 0)
        return g == NULL;
    calls_end(&c->calls[i], g, mv_now(w).ms);
    return true;
}

static inline struct cn_visit *cn_visit_of(struct cn *c, int i, uint64_t call)
{
    for (unsigned k = c->first; k < c->n_visits; k++)
        if (c->visit[k].node == i && c->visit[k].call == call)
            return &c->visit[k];
    return NULL;
}

/* What is kept of an answer so far: all. */
static inline int64_t cn_so_far(const struct going_call *g, uint64_t at, uint8_t *p, size_t n)
{
    struct cn *c = cn_of;

    for (unsigned k = c->first; k < c->n_visits; k++) {
        struct cn_visit *v = &c->visit[k];

        if (cn_going(c, v) != g || at >= v->told)
            continue;
        n = n < v->told - at ? n : v->told - at;
        cr_fill(c->readers.want, v->task, v->attempt, v->length);
        memcpy(p, c->readers.want + at, n);
        return (int64_t)n;
    }
    return 0;
}

static inline struct call_answer cn_head(struct cn_visit *v)
{
    struct call_answer a = v->answer;

    a.fault = CALL_NONE;
    a.status = 200;
    a.sized = true;
    a.says = v->length;
    return a;
}

static inline void cn_follow(struct cn *c, struct cn_visit *v, struct going_call *g)
{
    struct call_answer a = cn_head(v);

    tasktab_follow_head(c->w->node[v->node].t, mv_now(c->w), g, &a, &c->w->node[v->node].out);
}

/* Its head, with what was told of it, goes to who waits for it, if somebody does. */
static inline void cn_begins(struct cn *c, struct cn_visit *v, struct going_call *g)
{
    struct call_answer a = cn_head(v);

    cr_fill(c->bytes, v->task, v->attempt, v->length);
    a.body = c->bytes;
    a.n = v->told;
    a.length = v->told;
    tasktab_pass_head(c->w->node[v->node].t, mv_now(c->w), g, &a, &c->w->node[v->node].out);
    tasktab_follow_head(c->w->node[v->node].t, mv_now(c->w), g, &a, &c->w->node[v->node].out);
    c->readers.told[v->task] |= g->reader.peer != 0;
}

/* As caller_pass_on() does it. */
static inline void cn_pass_on(struct cn *c, int i)
{
    bool reads = tasktab_reads(c->w->node[i].t);

    list_each_of (&c->calls[i].early, struct going_call, in_early, g) {
        struct cn_visit *v = cn_visit_of(c, i, g->id);

        if (reads && v != NULL && !v->over)
            cn_begins(c, v, g);
    }
    list_each_of (&c->calls[i].eased, struct going_call, in_eased, g)
        list_remove(&c->calls[i].eased, &g->in_eased);
    list_each_of (&c->calls[i].joined, struct going_call, in_joined, g) {
        struct cn_visit *v = cn_visit_of(c, i, g->id);

        list_remove(&c->calls[i].joined, &g->in_joined);
        if (v != NULL && !v->over && v->told > 0)
            cn_follow(c, v, g);
    }
    tasktab_follow_on(c->w->node[i].t, &c->w->node[i].out);
}

/* As caller_cut() does it: the target sees a closed connection. */
static inline void cn_cut(struct cn *c, int i)
{
    struct tasktab *t = c->w->node[i].t;

    if (!tasktab_calls_cut(t))
        return;
    each_going (&c->calls[i], g) {
        struct cn_visit *v = cn_visit_of(c, i, g->id);

        if (g->step != CALL_SENT || !tasktab_call_is_cut(t, g))
            continue;
        if (v != NULL) {
            v->over = true;
            cn_close(v);
        }
        tasktab_pass_end(t, g, &c->w->node[i].out);
        calls_end(&c->calls[i], g, mv_now(c->w).ms);
    }
}

/* Before the turn's records are written, as caller_tick() and caller_cut() do it. */
static inline void cn_before(struct mv *w, int i)
{
    struct cn *c = cn_of;

    cn_pass_on(c, i);
    if (ml_of != NULL)
        large_step(ml_of->large[i], mv_now(w).ms, ml_needs, &w->node[i]);
    each_endpoint (&c->calls[i].endpoints, ep)
        ep->usable = ep->def.serial != 0;
    tasktab_calls_tidy(w->node[i].t);
    each_going (&c->calls[i], g)
        if (g->step == CALL_ENDED)
            cn_settle(c, i, g);
}

static inline void cn_written(struct mv *w, int i)
{
    struct cn *c = cn_of;

    for (unsigned k = 0; k < c->n_ends[i]; k++)
        for (unsigned id = 0; id < w->n_tasks; id++)
            c->final[id] |= w->task[id].no == c->end[i][k].no && w->task[id].part == c->end[i][k].part;
    c->n_ends[i] = 0;
    cn_cut(c, i);
}

/* ---- the target ---------------------------------------------------------------------- */

static inline unsigned cn_there(const struct cn *c)
{
    unsigned n = 0;

    for (unsigned k = c->first; k < c->n_visits; k++)
        n += c->visit[k].came && !c->visit[k].over;
    return n;
}

static inline unsigned cn_bears(const struct cn *c, unsigned target)
{
    static const unsigned v[CN_TARGETS] = { CN_SLOTS_A, 2, 1 };

    return c->discovers ? CN_SLOTS_A : v[target];
}

static inline unsigned cn_there_at(const struct cn *c, unsigned target)
{
    unsigned n = 0;

    for (unsigned k = c->first; k < c->n_visits; k++)
        n += c->visit[k].came && !c->visit[k].over && c->visit[k].target == target;
    return n;
}

/* A request for which there is no connection never was at a target. */
static inline bool cn_was_sent(const struct cn *c, const struct cn_visit *v)
{
    return !c->targets || v->answer.fault != CALL_CONNECT;
}

static inline bool cn_has(const struct cn *c, int i, part_no no)
{
    const struct part *p = tasktab_part(c->w->node[i].t, no);

    return p != NULL && p->life == PART_OWNED;
}

/* The provider has nothing left for more than so many. */
static inline void cn_provides(struct cn *c, struct cn_visit *v)
{
    msec_t now = mv_now(c->w).ms;

    if (now >= c->provided_at + CN_WINDOW) {
        c->provided_at = now - now % CN_WINDOW;
        c->provided = c->refused_by = 0;
    }
    if (c->provided < c->provides) {
        c->provided++;
        c->answered++;
        return;
    }
    v->answer = (struct call_answer){ .status = 429 };
    c->refusals++;
    if (++c->refused_by > CN_SLOTS)
        MV_BAD(c->w, "J33: %u requests in a window, of %u", c->provided + c->refused_by, c->provides);
}

static inline void cn_says_left(const struct cn *c, struct call_answer *a)
{
    msec_t now = mv_now(c->w).ms, end = c->provided_at + CN_WINDOW;

    snprintf(a->told[0], sizeof(a->told[0]), "%u", now < end ? c->provides - c->provided : c->provides);
    snprintf(a->told[1], sizeof(a->told[1]), "%ldms", (long)(now < end ? end - now : CN_WINDOW - now % CN_WINDOW));
}

static inline void cn_comes(struct cn *c, struct cn_visit *v)
{
    struct mv *w = c->w;
    struct going_call *g = cn_going(c, v);
    struct call_answer unwanted = { .fault = CALL_LOCAL };

    if (g == NULL) {
        v->over = true;
        return;
    }
    if (!tasktab_call_may_go(w->node[v->node].t, g)) {
        cn_hears(c, v, &unwanted);
        return;
    }
    v->answer = mood_answer(c->targets && c->away[v->target] ? AWAY : c->mood, &w->r->rng);
    if (c->provides > 0)
        cn_provides(c, v);
    for (const struct cn_visit *u = c->visit; u < c->visit + c->n_visits; u++)
        if (u != v && u->came && u->task == v->task && u->attempt == v->attempt && cn_was_sent(c, u) &&
            cn_was_sent(c, v))
            MV_BAD(w, "J3: attempt %u of task %u is at the target twice", v->attempt, v->task);
    if (!cn_has(c, v->node, g->part))
        MV_BAD(w, "J18: node %d sends task %u, whose partition it has not", v->node, v->task);
    if (c->final[v->task])
        MV_BAD(w, "J3: task %u is sent behind its end", v->task);
    if (c->readers.heard[v->task] != 0 && v->attempt > c->readers.heard[v->task])
        MV_BAD(w, "J22: attempt %u of task %u, of whose attempt %u a part was passed on", v->attempt,
               v->task, c->readers.heard[v->task]);
    v->came = true;
    if (v->file > 0)
        ml_look_at_sent(w, v->file, v->task);
    cn_close(v);
    if (cn_there(c) > CN_SLOTS)
        MV_BAD(w, "J4: %u at the target, which bears %u", cn_there(c), CN_SLOTS);
    if (c->targets && cn_there_at(c, v->target) > cn_bears(c, v->target))
        MV_BAD(w, "J4: %u at target %u, which bears %u", cn_there_at(c, v->target), v->target,
               cn_bears(c, v->target));
    v->at = mv_now(w).ms + 1 +
            (msec_t)rng_below(&w->r->rng, c->mood == SLOW ? CN_DEADLINE - CN_CONNECT : 300);
    if (c->mood == SILENT)
        v->at = v->began + CN_DEADLINE;
    snprintf(v->body, sizeof(v->body), "result of %u", v->task);
    if (c->readers.on && v->answer.fault == CALL_NONE && v->answer.status == 200 &&
        rng_chance(&c->readers.rng, 0.6))
        v->length = 40 + (uint32_t)rng_below(&c->readers.rng, CR_BYTES - 40);
}

/* The next bytes of one that is told piece by piece, as many as are wanted; it may break amid it. */
static inline void cn_tells(struct cn *c, struct cn_visit *v)
{
    struct going_call *g = cn_going(c, v);
    uint32_t n = 1 + (uint32_t)rng_below(&c->readers.rng, v->length / 3 + 1), room;

    v->over = g == NULL; /* closed with its process: heard at the next piece */
    if (g == NULL || g->step != CALL_SENT)
        return;
    if (v->told == 0)
        cn_begins(c, v, g);
    room = tasktab_pass_room(c->w->node[v->node].t, g, 1);
    n = n < v->length - v->told ? n : v->length - v->told;
    n = n < room ? n : room;
    if (n > 0) {
        cr_fill(c->bytes, v->task, v->attempt, v->length);
        tasktab_pass_more(c->w->node[v->node].t, g, c->bytes + v->told, n, &c->w->node[v->node].out);
    }
    v->told += n;
    if (rng_chance(&c->readers.rng, 0.03))
        v->answer.fault = CALL_RESET;
    v->at = mv_now(c->w).ms + (msec_t)rng_below(&c->readers.rng, 200);
    if (v->at > v->began + CN_DEADLINE) {
        v->at = v->began + CN_DEADLINE;
        v->answer.fault = v->told < v->length ? CALL_TIMEOUT : v->answer.fault;
    }
}

static inline void cn_answers(struct cn *c, struct cn_visit *v)
{
    struct call_answer *a = &v->answer;

    a->body = (const uint8_t *)v->body;
    a->n = (uint32_t)strlen(v->body);
    if (v->length > 0) {
        cr_fill(c->bytes, v->task, v->attempt, v->length);
        a->body = c->bytes;
        a->n = v->length;
    }
    a->status = a->fault == CALL_NONE ? a->status : 0;
    if (c->provides > 0 && a->status != 0)
        cn_says_left(c, a);
    a->length = a->n;
    a->ms = (uint32_t)(mv_now(c->w).ms - v->began);
    c->done_there[v->task] |= a->fault == CALL_NONE && a->status == 200;
    c->refused[v->task] |= mood_refuses(a);
    cn_hears(c, v, a);
}

static inline void cn_look_at_starts(struct cn *c)
{
    msec_t from = mv_now(c->w).ms - CN_WINDOW;

    while (c->window < c->n_starts && c->start[c->window] < from)
        c->window++;
    if (c->n_starts - c->window > CN_RATE * CN_WINDOW / 1000 + CN_BURST + PR_NODES)
        MV_BAD(c->w, "J5: %u starts in %d ms", c->n_starts - c->window, CN_WINDOW);
}

/* Units of requests in the last so many ms. */
static inline uint64_t cn_units(const struct cn *c, msec_t ms, int target)
{
    uint64_t n = 0;

    for (unsigned k = c->n_visits; k-- > 0 && c->visit[k].began > mv_now(c->w).ms - ms;)
        if ((target < 0 || c->visit[k].target == (unsigned)target) && cn_pays(&c->visit[k]))
            n += c->visit[k].cost;
    return n;
}

static inline void cn_look_at_units(const struct cn *c)
{
    static const struct {
        msec_t ms;
        uint64_t most;
        int target;
    } v[] = {
        { CN_WINDOW, CN_UNITS * CN_WINDOW / 1000 + CN_ROOM, -1 },
        { 60000, CN_UNITS * 60 + CN_ROOM, -1 },
        { 60000, CN_MINUTE + CN_MINUTE_ROOM, -1 },
        { CN_WINDOW, CN_UNITS_B * CN_WINDOW / 1000 + CN_UNITS_B, 1 },
    };

    for (size_t i = 0; c->units && i < ARRAY_LEN(v); i++) {
        uint64_t n = v[i].target < 0 || c->targets ? cn_units(c, v[i].ms, v[i].target) : 0;

        if (n > v[i].most + PR_NODES * CN_COST)
            MV_BAD(c->w, "J23: %lu units in %ld ms, of %lu (target %d)", n, (long)v[i].ms, v[i].most, v[i].target);
    }
}

/* It has a partition that may begin calls: without one, an old share is of no use to it. */
static inline bool cn_may_begin(const struct cn *c, int i, const struct endpoint *ep)
{
    if (c->w->node[i].t == NULL)
        return false;
    each_part (c->w->node[i].t, p)
        if (p->life == PART_OWNED && p->endpoint == ep)
            return true;
    return false;
}

static inline void cn_look_at_targets(const struct cn *c)
{
    uint64_t slots[CN_TARGETS] = { 0 };

    for (int i = 0; i < PR_NODES; i++)
        each_endpoint (&c->calls[i].endpoints, ep)
            if (ep->of != NULL && ep->def.serial != 0 && cn_may_begin(c, i, ep->of))
                slots[cn_target_no(&ep->def)] += ep->def.max_concurrent;
    for (unsigned k = 0; k < CN_TARGETS; k++)
        if (slots[k] > cn_bears(c, k))
            MV_BAD(c->w, "J4: the nodes have %lu slots of target %u, which bears %u", slots[k], k,
                   cn_bears(c, k));
}

static inline void cn_look_at_shares(struct cn *c)
{
    uint64_t rate = 0, slots = 0, parts = 0;

    for (int i = 0; i < PR_NODES; i++) {
        const struct endpoint *ep = endpoints_find(&c->calls[i].endpoints, "e");

        if (ep != NULL && ep->def.serial != 0 && cn_may_begin(c, i, ep)) {
            rate += ep->def.rate;
            slots += ep->def.max_concurrent;
            parts += c->units ? ep->def.unit_part : 0;
        }
    }
    if (parts > UNIT_PARTS)
        MV_BAD(c->w, "J23: the nodes have %lu parts of %u", parts, UNIT_PARTS);
    cn_look_at_targets(c);
    if (slots > CN_SLOTS)
        MV_BAD(c->w, "J4: the nodes have %lu slots of %u", slots, CN_SLOTS);
    if (rate > 1000 * CN_RATE)
        MV_BAD(c->w, "J5: the nodes have a rate of %lu of %u", rate, 1000 * CN_RATE);
}

#define CN_NAME "{\"url\": \"http://a/\", \"max_concurrent\": 4, \"discover\": \"dns\"}"

/* A name server tells the manager some of the addresses, in any order, some of them twice, of one version or both;
 * or nothing. which: bits; 0: it fails. */
static inline void cn_tell_name(struct cn *c, unsigned which)
{
    struct pr *r = c->w->r;
    struct name_answer a = { .v4 = { .how = NAME_NONE, .why = "none" }, .v6 = { .how = NAME_NONE, .why = "none" } };
    unsigned from = (unsigned)rng_below(&r->rng, CN_TARGETS);

    if (r->m == NULL)
        return;
    a.v4.how = which == 0 ? (uint8_t)rng_below(&r->rng, 3) : NAME_FOUND; /* also none, or found and empty */
    a.v6.how = rng_chance(&r->rng, 0.5) ? NAME_NONE : NAME_FAILED;
    for (unsigned k = 0; k < 2 * CN_TARGETS; k++)
        if ((which >> (k + from) % CN_TARGETS & 1) != 0 && (k < CN_TARGETS || rng_chance(&r->rng, 0.3)))
            snprintf(a.v4.address[a.v4.n++], DISCOVER_TEXT, "10.0.0.%u", 1 + (k + from) % CN_TARGETS);
    mng_name_told(r->m, r->now, "e", "http://a/", &a, &r->out);
    pr_flush(r);
}

/* A letter for each calendar window. */
static inline void cn_rates(char *out, size_t cap, const char *letters)
{
    size_t k = 0;

    for (const char *o = letters; *o != '\0'; o++)
        k += (size_t)snprintf(out + k, cap - k, "%s{\"units\": %d, \"per\": \"%s\", \"window\": \"calendar\"}%s",
                              o == letters ? "[" : ", ", *o == 'M' ? CN_CALENDAR : *o == 'H' ? CN_HOUR : CN_DAY,
                              *o == 'M' ? "minute" : *o == 'H' ? "hour" : "day", o[1] != '\0' ? "" : "]");
}

/* The endpoint as it is defined: what: bits of its targets; 0: the first, by url. */
static inline void cn_define(struct cn *c, unsigned what)
{
    static const char *const text[CN_TARGETS] = {
        "{\"url\": \"http://a/\", \"max_concurrent\": 4",
        "{\"url\": \"http://b/\", \"max_concurrent\": 2, \"weight\": 3",
        "{\"url\": \"http://c/\", \"max_concurrent\": 1",
    };
    char json[1100], rates[240] = "", b[100] = "", list[500] = "\"url\": \"http://a/\"";
    struct err e = { 0 };
    size_t n = 0;

    if (c->windows && c->by_budget) {
        static const char *const of_budget[] = { "M", "DM" };

        snprintf(list, sizeof(list), "{\"name\": \"gpu\", \"rates\": ");
        cn_rates(list + strlen(list), sizeof(list) - strlen(list), of_budget[rng_below(&c->w->r->rng, 2)]);
        strcat(list, "}");
        if (c->w->r->m != NULL && pr_budget(c->w->r, list, &e) < 0)
            MV_BAD(c->w, "%s", e.text);
        snprintf(list, sizeof(list), "\"url\": \"http://a/\"");
        n = (size_t)snprintf(rates, sizeof(rates), "\"budget\": \"gpu\", \"rates\": ");
        cn_rates(rates + n, sizeof(rates) - n, "H");
        strcat(rates, ", ");
        n = 0;
    } else if (c->windows) { /* in any order, beside one that comes and goes */
        static const char *const order[] = { "MH", "HM", "DMH", "HDM" };

        n = (size_t)snprintf(rates, sizeof(rates), "\"rates\": ");
        cn_rates(rates + n, sizeof(rates) - n, order[rng_below(&c->w->r->rng, ARRAY_LEN(order))]);
        strcat(rates, ", ");
        n = 0;
    }
    if (c->units) {
        snprintf(b, sizeof(b), ", \"rates\": [{\"units\": %d, \"per\": \"second\"}]", CN_UNITS_B);
        snprintf(rates, sizeof(rates), "\"rates\": [{\"units\": %d, \"per\": \"second\", \"burst\": %d}, "
                 "{\"units\": %d, \"per\": \"minute\", \"burst\": %d}], ", CN_UNITS, CN_ROOM, CN_MINUTE,
                 CN_MINUTE_ROOM);
    }
    if (what != 0)
        n = (size_t)snprintf(list, sizeof(list), "\"targets\": [%s", c->discovers ? CN_NAME : "");
    for (unsigned k = 0; k < CN_TARGETS && what != 0 && !c->discovers; k++)
        if ((what >> k & 1) != 0)
            n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s%s%s", list[n - 1] == '[' ? "" : ", ", text[k],
                                  k == 1 ? b : "", "}");
    if (what != 0)
        snprintf(list + n, sizeof(list) - n, "]%s",
                 c->affinity ? ", \"affinity\": \"key\", \"affinity_bound\": 100" : "");
    snprintf(json, sizeof(json),
             "{\"name\": \"e\", %s, %s\"max_concurrent\": %d, \"rate_per_s\": %d, "
             "\"burst\": %d, \"deadline\": \"%dms\", \"connect_timeout\": \"1s\", "
             "\"breaker\": {\"min\": 8, \"open\": \"2s\"}}",
             list, rates, what != 0 ? CN_SLOTS : CN_SLOTS_A, CN_RATE, CN_BURST, CN_DEADLINE);
    if (c->w->r->m != NULL && pr_endpoint(c->w->r, json, &e) < 0)
        MV_BAD(c->w, "%s", e.text);
}

/* Its operator changes the list of targets amid calls; some targets die, or all. */
static inline void cn_change_targets(struct cn *c)
{
    struct rng *r = &c->w->r->rng;

    if (c->windows && !c->targets && rng_chance(r, 0.3))
        cn_define(c, 0);
    if (!c->targets)
        return;
    if (rng_chance(r, 0.3))
        cn_define(c, (unsigned)rng_below(r, c->discovers ? 3 : 1u << CN_TARGETS));
    if (c->discovers && rng_chance(r, 0.4))
        cn_tell_name(c, (unsigned)rng_below(r, 1u << CN_TARGETS));
    for (unsigned k = 0; k < CN_TARGETS && !c->well; k++)
        if (rng_chance(r, 0.1))
            c->away[k] = !c->away[k];
}

static inline void cn_target(struct mv *w)
{
    struct cn *c = cn_of;

    if (rng_chance(&w->r->rng, 0.01) && !c->well)
        c->mood = (enum mood)rng_below(&w->r->rng, LATER);
    for (unsigned k = c->first; k < c->n_visits; k++) {
        struct cn_visit *v = &c->visit[k];

        if (!v->over && !v->came && v->comes <= mv_now(w).ms)
            cn_comes(c, v);
        if (!v->over && v->came && v->told < v->length && v->answer.fault == CALL_NONE &&
            v->at <= mv_now(w).ms)
            cn_tells(c, v);
        if (!v->over && v->came && (v->told == v->length || v->answer.fault != CALL_NONE) &&
            v->at <= mv_now(w).ms)
            cn_answers(c, v);
    }
    while (c->first < c->n_visits && c->visit[c->first].over)
        c->first++;
    cr_step(&c->readers, w);
    cn_look_at_starts(c);
    cn_look_at_units(c);
    cn_look_at_shares(c);
}

static inline bool cn_reader_hears(struct mv *w, uint64_t rid, const struct msg *m)
{
    struct cn *c = cn_of;
    bool is_mine = cr_hear(&c->readers, w, rid, m);

    for (unsigned k = 0; is_mine && m->type == MSG_TASK_PIECE && k < w->n_tasks; k++)
        if (c->readers.v[k].rid == rid && c->readers.v[k].attempt > c->readers.heard[k])
            c->readers.heard[k] = c->readers.v[k].attempt;
    return is_mine;
}

static inline void cn_reader_lost(struct mv *w, peer_no link)
{
    (void)w;
    cr_link_lost(&cn_of->readers, link);
}

/* ---- the world ----------------------------------------------------------------------- */

static inline struct cn *cn_new(uint64_t seed, bool shared)
{
    static const struct mv_sender sender = { cn_self,   cn_final,  cn_dies,    ml_begins,
                                             cn_forget, cn_before, cn_written, cn_target,
                                             cn_reader_hears, cn_reader_lost };
    struct cn *c = calloc(1, sizeof(*c));
    struct err e = { 0 };
    char json[400];

    if (c == NULL)
        abort();
    cn_of = c;
    c->w = mv_world(seed);
    c->w->sender = &sender;
    c->w->redis = shared ? calloc(1, sizeof(*c->w->redis)) : NULL;
    for (int i = 0; i < PR_NODES; i++) {
        calls_init(&c->calls[i]);
        c->w->node[i].calls = &c->calls[i];
        c->w->node[i].answers.so_far = cn_so_far;
    }
    snprintf(json, sizeof(json),
             "{\"name\": \"e\", \"url\": \"http://a/\", \"max_concurrent\": %d, \"rate_per_s\": %d, "
             "\"burst\": %d, \"deadline\": \"%dms\", \"connect_timeout\": \"1s\", "
             "\"adaptive\": {\"max\": %d}, \"breaker\": {\"min\": 8, \"open\": \"2s\"}}",
             CN_SLOTS, CN_RATE, CN_BURST, CN_DEADLINE, rng_chance(&c->w->r->rng, 0.5) ? CN_SLOTS : 0);
    if (pr_endpoint(c->w->r, json, &e) < 0 ||
        pr_pool(c->w->r, "{\"match\": \"q*\", \"partitions\": 3, \"endpoint\": \"e\", "
                         "\"result_ttl\": \"30d\", \"task_ttl\": \"30d\", \"max_attempts\": 40, "
                         "\"retry\": {\"max\": \"1s\"}}", &e) < 0)
        MV_BAD(c->w, "%s", e.text);
    return c;
}

static inline void cn_free(struct cn *c)
{
    mv_free(c->w);
    for (unsigned k = 0; k < c->n_visits; k++)
        cn_close(&c->visit[k]);
    ml_free();
    for (int i = 0; i < PR_NODES; i++)
        calls_fini(&c->calls[i]);
    free(c);
}

static inline bool cn_all_final(const struct cn *c)
{
    for (unsigned id = 0; id < c->w->n_tasks; id++)
        if (!c->final[id] && !c->w->task[id].over)
            return false;
    return true;
}

/* All is well again: J1, J2 of each task. */
static inline void cn_judge(struct cn *c)
{
    struct mv *w = c->w;

    for (unsigned id = 0; id < w->n_tasks && w->r->why[0] == '\0'; id++) {
        const struct map_part *s = mv_share(w, id % MV_QUEUES);
        int i = s != NULL ? mv_node_of(w, s) : -1;
        struct part *p = i >= 0 && w->node[i].t != NULL ? tasktab_part(w->node[i].t, s->part) : NULL;
        struct task_view v;

        if (p == NULL || engine_look(&p->e, w->task[id].no, &v) < 0)
            MV_BAD(w, "J1: task %u is lost", id);
        else if ((c->readers.v[id].state == CR_WHOLE || c->readers.along[id].state == CR_WHOLE) &&
                 v.state != TASK_SUCCEEDED)
            MV_BAD(w, "J22: task %u was told whole, and is %s", id, task_state_word(v.state));
        else if (v.state == TASK_CANCELLED && c->readers.told[id] && c->readers.left[id])
            continue;
        else if (v.state != TASK_SUCCEEDED && v.state != TASK_DEAD)
            MV_BAD(w, "J1: task %u has no end: %s", id, task_state_word(v.state));
        else if (v.state == TASK_SUCCEEDED && !c->done_there[id])
            MV_BAD(w, "J2: task %u succeeded, and the target has not said so", id);
        else if (v.state == TASK_DEAD && !c->refused[id] && !c->readers.told[id] && v.attempts < CN_ATTEMPTS)
            MV_BAD(w, "J15: task %u is dead of %u attempts", id, v.attempts);
        else if (!c->final[id] && !w->task[id].over)
            MV_BAD(w, "J1: task %u ended, and nobody wrote so", id);
    }
}

#endif
