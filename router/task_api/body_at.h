/* body_at.h: one value of a stranger's body by a pointer ("/options/size"): where routes and costs look into
 * it. Pure. Nothing is changed, or copied: what was read goes to the target. */
#ifndef SEGQ_TASK_API_BODY_AT_H
#define SEGQ_TASK_API_BODY_AT_H

#include "common/base/text.h"

enum body_at {
    AT_FOUND,
    AT_NOTHING, /* also of what is no JSON */
    AT_TWICE,   /* targets differ in which of two equal members counts: so none does */
    AT_DEEP,    /* JSON nested deeper than is read: perhaps it is there */
};

/* raw: bytes of the value, as they stand. */
enum body_at body_at(struct slice body, const char *pointer, struct slice *raw);

#endif
