/* ask.h: asking queuemng or a router. */
#ifndef SEGQ_CTL_ASK_H
#define SEGQ_CTL_ASK_H

#include "queuemng/ctl_ask/ctl.h"
#include "queuemng/ctl_ask/http.h"

/* Asks the leading manager (/v1/admin/...), whose address the others know, or any router that
 * answers. CTL_OK: it answered, with whatever status; the caller frees a->body. Else the error has
 * been printed. */
int ctl_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
/* Asks the leading manager, as above, if an address and a token are given; says nothing. The path
 * has no `*`. */
int ctl_try(const struct ctl *c, struct ctl_call call, struct ctl_answer *a, struct err *e);

#endif
