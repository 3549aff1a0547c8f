/* redis_int.h: what redis_link.c and redis_ans.c share. */
#ifndef SEGQ_REDIS_INT_H
#define SEGQ_REDIS_INT_H

#include "queuemng/store/redis_link.h"

struct texts { /* copies */
    char **v;
    size_t n;
};
SQ_CHECK int texts_copy(struct texts *t, char *const *v, size_t n);
void texts_free(struct texts *t);

bool redis_fault_fatal(enum redis_fault f);
const char *redis_fault_hint(enum redis_fault f); /* what an operator can do */
/* Of hiredis' reply (not NULL): an error by its first word. */
struct redis_ans redis_ans_of(const void *reply);
/* "MOVED slot host:port" -> "host:port"; "" if it says something else. */
void redis_moved_to(const char *text, char *out, size_t cap);

#endif
