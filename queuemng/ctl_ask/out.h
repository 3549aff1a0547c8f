/* out.h: what segqctl says. */
#ifndef SEGQ_CTL_OUT_H
#define SEGQ_CTL_OUT_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/* Prints an answer; doc is NULL if it is empty (204). */
typedef void (*view_fn)(struct buf *b, const json_t *doc);

int ctl_say_err(const struct err *e, int code); /* code */
/* To standard output, at once. If its reader is gone the process ends here, quietly; any other
 * failure is printed and ends the process, too. */
void ctl_put_out(const struct buf *b);
void ctl_put_end(void); /* Writes what stdio still has; ends the process as ctl_put_out() does */
void ctl_print(view_fn view, const json_t *doc);

#endif
