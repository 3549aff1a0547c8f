/* answer.h: asking, and printing the answer. All functions with an int return enum ctl_exit, and
 * have printed the error. */
#ifndef SEGQ_CTL_ANSWER_H
#define SEGQ_CTL_ANSWER_H

#include <jansson.h>

#include "queuemng/ctl_ask/ask.h"
#include "queuemng/ctl_ask/out.h"

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

#endif
