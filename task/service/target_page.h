/* target_page.h: reads the page of metrics of a target, again and again, for its readings
 * (task/calls/pressure.h). Shell.
 *
 * It is read as calls are made: by the same names, addresses that `allow` lets, authorities, proxy, and with the
 * secret of `auth`, which the page's host gets anyway; at most one page of a target at a time, and some of all.
 * What is longer than a megabyte, late, or no 200 is no page. A redirect is none. */
#ifndef SEGQ_TASK_TARGET_PAGE_H
#define SEGQ_TASK_TARGET_PAGE_H

#include "common/base/err.h"
#include "task/calls/calls.h"
#include "task/out/out.h"

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
