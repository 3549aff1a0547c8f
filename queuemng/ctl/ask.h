/* ask.h: asking queuemng or a router, and printing the answer. All functions with an int
 * return enum ctl_exit, and have printed the error. */
#ifndef SEGQ_CTL_ASK_H
#define SEGQ_CTL_ASK_H

#include <jansson.h>

#include "queuemng/ctl/ctl.h"
#include "queuemng/ctl/http.h"

typedef void (*view_fn)(struct buf *b, const json_t *doc);

int ctl_say_err(const struct err *e, int code); /* code */
/* To standard output, at once. If its reader is gone the process ends here, quietly; any other
 * failure is printed and ends the process, too. */
void ctl_put_out(const struct buf *b);
void ctl_put_end(void); /* what stdio still has; ends the process as ctl_put_out() does */
void ctl_print(view_fn view, const json_t *doc);

/* Asks the leading manager (/v1/admin/...), whose address the others know, or any router that
 * answers. CTL_OK: it answered, with whatever status; the caller frees a->body. */
int ctl_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view);
int ctl_do(const struct ctl *c, struct ctl_call call, view_fn view); /* asks, and prints it */
/* The answer as JSON, new reference. NULL: *rc is the exit code; the answer is printed if it was
 * wanted as it came (--json), or is a refusal. */
json_t *ctl_fetch(const struct ctl *c, struct ctl_call call, int *rc);
/* The answer is printed; also JSON, new reference. NULL: *rc is the exit code. */
json_t *ctl_show(const struct ctl *c, struct ctl_call call, view_fn view, int *rc);
/* GET for a further step: only a refusal is printed. name: as in struct ctl_call. */
json_t *ctl_get(const struct ctl *c, const char *path, const char *name, int *rc);

#endif
