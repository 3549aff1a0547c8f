/* polled.h: what is asked again and again: services for waits, pages of metrics of targets. Shell.
 *
 * Operators' own services for waits (task/calls/estimates.h).
 *
 * A question is a POST of JSON, made as calls are: by the same names, and to no address that is not of the
 * public internet but those of `eta_allow`. At most ESTIMATOR_AT_ONCE are under way, of all queues; of a queue
 * one, since it is over before the next is due. An answer is a 200 of at most 4 KiB; a redirect is none. Nobody waits for
 * it: what is told meanwhile is our own estimate. */
#ifndef SEGQ_POLLED_H
#define SEGQ_POLLED_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/list.h"
#include "task/calls/calls.h"
#include "task/node/table.h"
#include "task/out/out.h"

#define ESTIMATOR_AT_ONCE   16
#define ESTIMATOR_BYTES_MAX 4096

/* late: eta_timeout; failed: no 200; wrong: what it says cannot be */
#define ESTIMATOR_ENDS(X) X(ANSWERED, "answered") X(LATE, "late") X(FAILED, "failed") X(WRONG, "wrong")
enum estimator_end {
#define X(NAME, word) ESTIMATE_##NAME,
    ESTIMATOR_ENDS(X)
#undef X
    ESTIMATE_NENDS
};

struct task_service;

struct estimator { /* a part of its owner */
    struct task_service *s; /* ref */
    struct list services; /* list of struct eta_service: of each partition that asks */
    struct eta_asking { /* service NULL: free */
        struct eta_service *service; /* ref */
        struct out_call *call;
        struct eta_due due;
    } asking[ESTIMATOR_AT_ONCE];
    struct buf text;
    uint64_t ended[ESTIMATE_NENDS]; /* ever */
};

void estimator_init(struct estimator *e, struct task_service *s);
/* Before the caller, whose client it uses. */
void estimator_fini(struct estimator *e);
/* Asks what is due. */
void estimator_tick(struct estimator *e);
void estimator_metrics(const struct estimator *e, struct buf *b);

/* Reads the page of metrics of a target, again and again, for its readings
 * (task/calls/throttle.h).
 *
 * It is read as calls are made: by the same names, addresses that `allow` lets, authorities, proxy, and with the
 * secret of `auth`, which the page's host gets anyway; at most one page of a target at a time, and some of all.
 * What is longer than a megabyte, late, or no 200 is no page. A redirect is none. */

struct target_page;
struct task_service;

struct target_pages { /* the process's */
    struct task_service *s; /* ref */
    uint32_t asked; /* under way */
};

/* rules: of the endpoint's calls. NULL in *out: the endpoint has no readings. */
SQ_CHECK int target_page_new(struct target_page **out, struct target_pages *all, struct out *o, struct endpoint *ep,
                             const struct out_rules *rules, struct err *e);
/* Asks for it, if it is time. auth: "name: value"; NULL: none. */
void target_page_look(struct target_page *p, const char *auth);
/* NULL is fine. What is under way is given up. */
void target_page_free(struct target_page *p);

#endif
