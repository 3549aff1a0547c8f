/* definitions.h: definitions of all kinds (policy/def_kind.h) over HTTP: the list of a kind; GET, PUT,
 * PATCH and DELETE of one, as JSON with a version, under the conditions of If-Match and If-None-Match.
 *
 * A kind's own file has its orders (pause, trip), and what is special in its bodies. */
#ifndef SEGQ_MNG_DEFINITIONS_H
#define SEGQ_MNG_DEFINITIONS_H

#include "queuemng/admin/answers.h"
#include "queuemng/policy/queue_def.h"

/* version 0: without one. NULL: no memory. */
json_t *admin_def_json(const void *def, const struct cfg_key *keys, uint64_t version);
/* The same, without what the bearer may not see: secrets are an admin's. */
json_t *admin_def_shown(const struct admin_call *c, const void *def, const struct cfg_key *keys,
                        uint64_t version);
/* All of a kind that the bearer may see, an array. NULL: no memory. */
json_t *admin_defs_json(const struct admin_call *c, enum def_kind_no kind);
/* GET: {"pools": [...]} */
void admin_definitions(struct admin_call *c, enum def_kind_no kind);
struct admin_special { /* NULL: nothing is */
    /* Changes what was read of a body; old: of PATCH, what it changes, else NULL. */
    int (*fit)(struct admin_call *c, const char *name, const void *old, void *def, struct err *e);
    void (*delete)(struct admin_call *c);
};
/* GET, PUT, PATCH, DELETE. name: the full name (def_full_name()); c->name: as the body has it. */
void admin_definition(struct admin_call *c, enum def_kind_no kind, const char *name,
                      const struct admin_special *x);

/* Sets `warning` of a queue: no browser can be told (pools_push_none()). */
void admin_queue_warns(json_t *to, const struct queue_def *d);
/* Answers with the definition and its ETag, or 404. */
void admin_answer_def(struct admin_call *c, enum def_kind_no kind, const char *name, int status);
/* Defines *def, which it clears, and answers with it, or with the error: of rc, or of that. */
void admin_define(struct admin_call *c, enum def_kind_no kind, const char *name, void *def, int rc,
                  struct err *e, int status);
void admin_undefine(struct admin_call *c, enum def_kind_no kind, const char *name);
/* 404 with the kind's own code, and what e says. */
void admin_def_err(struct admin_call *c, enum def_kind_no kind, const struct err *e);

#endif
