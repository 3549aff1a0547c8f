/* redis_write.h: batches of writes: gathered, sent one at a time, and sent again until they
 * are acknowledged or their term is over. */
#ifndef SEGQ_REDIS_WRITE_H
#define SEGQ_REDIS_WRITE_H

#include "queuemng/store/redis_store_int.h"

bool write_is_open(const struct write *w);
void write_reset(struct write *w);
void write_fini(struct write *w);
/* val NULL: delete. SQ_ENOMEM: the batch is as before. */
SQ_CHECK int write_add(struct write *w, const char *key, const char *val);
/* Sends what is gathered, if nothing is under way. */
void redis_write_go(struct redis_store *s);

#endif
