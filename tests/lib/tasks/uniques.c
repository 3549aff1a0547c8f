/* uniques.c: a task loses its unique key when it starts, is final, or goes: as it said. */
#include "tests/lib/tasks/uniques.h"

#include "common/base/err.h"
#include "task/engine/look.h"
#include "tests/lib/tasks/actors.h"
#include "tests/lib/tasks/model.h"

/* The task has unique keys no longer that last at most so long. */
static void loses(struct uniques *u, task_no no, enum unique_while most)
{
    for (unsigned q = 0; q < UNIQUES_QUEUES; q++)
        for (unsigned k = 0; k < UNIQUES_KEYS; k++)
            if (u->v[q][k].no == no && u->v[q][k].lasts <= most)
                u->v[q][k].no = 0;
}

/* replaced: what is cancelled here is so by the submission at hand. */
static void read_log(struct world *w, bool replaced)
{
    const struct buf *log = &w->e->log;
    struct uniques *u = &w->model->uniques;
    struct trec_frame f;
    struct trec r;

    while (trec_next(log->data, log->len, &u->at, &f)) {
        if (trec_decode(f.kind, f.p, f.n, &r) < 0)
            continue;
        if (r.kind == TREC_START || r.kind == TREC_CALL)
            loses(u, r.no, UNIQUE_WAITING);
        else if (trec_is_end(&r))
            loses(u, r.no, UNIQUE_RUNNING);
        else if (r.kind == TREC_GONE)
            loses(u, r.no, UNIQUE_FINAL);
        if (replaced && r.kind == TREC_CANCEL)
            actors_say(w, SAID_CANCEL, r.no);
    }
}

void uniques_read(struct world *w)
{
    read_log(w, false);
}

void uniques_flush(struct world *w)
{
    uniques_read(w);
    w->model->uniques.at = 0;
}

void uniques_doubt(struct world *w)
{
    struct uniques *u = &w->model->uniques;

    u->at = 0;
    for (unsigned q = 0; q < UNIQUES_QUEUES; q++)
        for (unsigned k = 0; k < UNIQUES_KEYS; k++)
            u->v[q][k].doubt = true;
}

/* Another task had the key: what has become of both. */
static void check_other(struct world *w, const struct said *s, task_no has)
{
    struct task_view v;

    if (engine_look(w->e, has, &v) < 0) {
        world_broke(w, "task %lx has a unique key, and is not there", has);
    } else if (s->on_conflict == UNIQUE_RETURN) {
        if (s->rc != 1 || s->no != has)
            world_broke(w, "unique key %u of task %lx: rc %d, task %lx", s->unique, has, s->rc, s->no);
    } else if (s->on_conflict == UNIQUE_REJECT || v.state == TASK_RUNNING) {
        if (s->rc != SQ_EHELD)
            world_broke(w, "unique key %u of task %lx is given away: %d", s->unique, has, s->rc);
    } else if (s->rc == 0 && !task_state_is_final(v.state)) {
        world_broke(w, "task %lx was replaced, and is %s", has, task_state_word(v.state));
    }
}

void uniques_check(struct world *w, const struct said *s)
{
    struct uniques *u = &w->model->uniques;
    task_no has = u->v[s->queue][s->unique].no;
    bool known = !u->v[s->queue][s->unique].doubt;

    if (known && s->name == 0 && has != 0)
        check_other(w, s, has);
    else if (known && s->name == 0 && s->rc != 0 && s->rc != SQ_EFULL)
        world_broke(w, "nobody has unique key %u: %d", s->unique, s->rc);
    if (s->rc != 0)
        return;
    read_log(w, true); /* what it replaced has lost the key */
    u->v[s->queue][s->unique].no = s->no;
    u->v[s->queue][s->unique].lasts = s->lasts;
    u->v[s->queue][s->unique].doubt = false;
    shares_begin(&w->model->shares);
}
