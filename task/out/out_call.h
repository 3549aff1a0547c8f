/* out_call.h: a request's life: where it is, how it ends. Shell. For the files of this room. */
#ifndef SEGQ_OUT_CALL_H
#define SEGQ_OUT_CALL_H

#include "task/out/out_int.h"

/* An empty one, in no list. NULL: no memory. */
struct out_call *out_call_new(struct out *o);
void out_call_free(struct out *o, struct out_call *c);
void out_call_enter(struct out_call *c, enum out_place place);
void out_call_leave(struct out_call *c);
/* Ends it; it is in no list, and no client has it. Its caller is told at the end of the turn.
 * why: of a fault. */
void out_call_ends(struct out_call *c, enum call_fault fault, const char *why);
/* Such a request says how long its body is, also that it is empty (RFC 9110 8.6). */
bool out_call_has_body(const struct out_call *c, const char *method);
/* Spare ones go. */
void out_call_free_spare(struct out *o);

#endif
