/* caller.h: the calls of endpoints: made of tasks that have started, sent (task/out), settled. Shell.
 *
 *   table        takes a task of an endpoint's pool, and says so to the node itself
 *   journal      its start is written, or Redis has it: only then the node hears of it
 *   here         the request goes; what the target answers, or why it does not, settles the task
 *
 * What cannot be settled now, since nothing can be written, is tried again until the task's lease is
 * over. When the process ends, calls have some seconds to end. */
#ifndef SEGQ_TASK_CALLER_H
#define SEGQ_TASK_CALLER_H

#include "common/base/metrics.h"
#include "task/calls/calls.h"
#include "task/out/out.h"
#include "task/service/polled.h"
#include "task/service/config.h"

struct msg;
struct task_service;

struct caller { /* a part of its owner */
    struct task_service *s; /* ref */
    struct calls calls;
    struct out *out; /* owned */
    struct target_pages pages;
    struct buf text; /* texts of the request at hand */
    char public_url[PUBLIC_URL_MAX + 1]; /* task_cfg.public_url, without a slash at its end */
    struct histo took; /* calls, from the send to the end of the answer */
    bool said_full;
};

/* cfg: read now only. */
SQ_CHECK int caller_init(struct caller *c, struct task_service *s, const struct task_cfg *cfg,
                         struct err *e);
/* Also of one that is zero. */
void caller_fini(struct caller *c);
/* For node_kind.self; ctx: struct task_service. */
void caller_self(void *ctx, const struct msg *m, uint64_t rid);
/* The turn has not happened: what was taken was not. */
void caller_forget_all_taken(struct caller *c);
/* Ends the taken call with this id, if its task is of the partition, which has left; false: of another one. */
bool caller_forget_taken(struct caller *c, uint64_t id, part_no no);
/* Near the end of a turn: readers who have come, or have room again. */
void caller_pass_on(struct caller *c);
/* At the end of a turn: calls whose tasks were cancelled by force in it are closed. */
void caller_cut(struct caller *c);
/* New definitions come into force, and changed files of keys; what could not be settled is tried again. */
void caller_tick(struct caller *c);

#endif
