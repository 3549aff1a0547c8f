/* definitions.h: what definitions of queues and of pools have in common: as JSON with a version,
 * read from a body, changed under the conditions of If-Match and If-None-Match. */
#ifndef SEGQ_MNG_DEFINITIONS_H
#define SEGQ_MNG_DEFINITIONS_H

#include "queuemng/admin/answers.h"

/* version 0: without one. NULL: no memory. */
json_t *admin_def_json(const void *def, const struct cfg_key *keys, uint64_t version);
/* The answer that shows it, with its ETag. */
void admin_answer_def(struct admin_call *c, int status, const void *def,
                      const struct cfg_key *keys, uint64_t version);
/* May PUT, PATCH, DELETE go on? False: the answer says why not. version 0: it is not there; the
 * present one otherwise. what: "queue". */
bool admin_may_change(struct admin_call *c, const char *what, const char *unknown,
                      uint64_t version);
/* The body into *def, zeroed memory, and the caller's to clear, whatever comes. old: PATCH changes
 * this one. The table's first key is the name, which the path has: the body may leave it out. */
SQ_CHECK int admin_read_def(struct admin_call *c, void *def, size_t size,
                            const struct cfg_key *keys, const void *old, struct err *e);

#endif
