/* round_trip.h: asking, and printing the answer. All functions with an int return enum ctl_exit, and
 * have printed the error. */
#ifndef SEGQ_CTL_ROUND_TRIP_H
#define SEGQ_CTL_ROUND_TRIP_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "queuemng/ctl_ask/ctl.h"
#include "queuemng/ctl_ask/http.h"

/* Asks the leading manager (/v1/admin/...), whose address the others know, or any router that
 * answers. CTL_OK: it answered, with whatever status; the caller frees a->body. Else the error has
 * been printed. */
int ctl_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
/* Asks the leading manager, as above, if an address and a token are given; says nothing. The path
 * has no `*`. */
int ctl_try(const struct ctl *c, struct ctl_call call, struct ctl_answer *a, struct err *e);

json_t *ctl_json(const struct ctl_answer *a); /* new reference; NULL: it is none */

/* Prints an answer; doc is NULL if it is empty (204). */
typedef void (*view_fn)(struct buf *b, const json_t *doc);

int ctl_say_err(const struct err *e, int code); /* code */
/* To standard output, at once. If its reader is gone the process ends here, quietly; any other
 * failure is printed and ends the process, too. */
void ctl_put_out(const struct buf *b);
void ctl_put_end(void); /* Writes what stdio still has; ends the process as ctl_put_out() does */
void ctl_print(view_fn view, const json_t *doc);

int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view);
/* A document that is made here, in the form that is wanted; CTL_OK. */
int ctl_say_doc(const struct ctl *c, const json_t *doc, view_fn view);
int ctl_do(const struct ctl *c, struct ctl_call call, view_fn view); /* asks, and prints it */
/* The answer as JSON, new reference. NULL: *rc is the exit code; the answer is printed if it was
 * wanted as it came (-o json, yaml), or is a refusal. */
json_t *ctl_fetch(const struct ctl *c, struct ctl_call call, int *rc);
/* The answer is printed; also JSON, new reference. NULL: *rc is the exit code. */
json_t *ctl_show(const struct ctl *c, struct ctl_call call, view_fn view, int *rc);
/* GET for a further step: only a refusal is printed. name: as in struct ctl_call. */
json_t *ctl_get(const struct ctl *c, const char *path, const char *name, int *rc);
/* Says that no queue has this name, and which may be meant. CTL_REFUSED */
int ctl_say_no_queue(const struct ctl *c, const char *name);

#endif
