/* ask.h: asking queuemng or a router, and printing the answer. All functions with an int
 * return enum ctl_exit, and have printed what went wrong. */
#ifndef SEGQ_CTL_ASK_H
#define SEGQ_CTL_ASK_H

#include <jansson.h>

#include "queuemng/ctl/ctl.h"
#include "queuemng/ctl/http.h"

typedef void (*view_fn)(struct buf *b, const json_t *doc);

int ctl_say_err(const struct err *e, int code); /* code */
int ctl_too_long(const char *name); /* CTL_USAGE */
/* The first router that answers; a->body is the caller's. */
int ctl_router_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
/* To standard output, at once. If its reader is gone the process ends here, quietly; any other
 * failure is printed and ends the process, too. */
void ctl_put_out(const struct buf *b);
void ctl_put_end(void); /* what stdio still has; ends the process as ctl_put_out() does */
/* A name inside a path; false: the path would be too long. */
bool ctl_path_set(char *dst, size_t cap, const char *before, const char *name,
                  const char *after);
int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view);
/* Asks the leading manager, whose address the others know. CTL_OK: it answered, with whatever
 * status; the caller frees a->body. */
int ctl_admin_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
int ctl_admin_do(const struct ctl *c, struct ctl_call call, view_fn view); /* and prints it */
int ctl_router_do(const struct ctl *c, struct ctl_call call, view_fn view);
/* METHOD of /v1/admin/queues/NAME, followed by `after`; body NULL: none. */
int ctl_queue_do(const struct ctl *c, const char *method, const char *name,
                 const char *after, const char *body, view_fn view);
/* GET of a path as JSON, new reference. NULL: *rc is the exit code. */
json_t *ctl_admin_json(const struct ctl *c, const char *path, int *rc);

#endif
