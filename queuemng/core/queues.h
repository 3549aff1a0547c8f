/* queues.h: queues are defined, and deleted in two steps, since a slip must lose nobody.
 *
 *   DELETE --> deleted: nobody joins, nobody is let in, places and passes are kept, and its
 *   name is nobody's --time is over, or told so--> gone: whoever waits is told 410
 *        '--restore--> as it was
 *
 * While it is deleted its state is `reject`, which means the same to nodes, routers and older
 * managers; the state that it had is stored beside its definition. The time goes by the wall
 * clock as far as that is believed, so it survives restarts. */
#ifndef SEGQ_QUEUEMNG_CORE_QUEUES_H
#define SEGQ_QUEUEMNG_CORE_QUEUES_H

#include "queuemng/core/view.h"

struct err;
struct mng;
struct mng_out;

struct mng_deleted_view {
    const char *name;
    int64_t until_ms;         /* wall clock: until then it can be restored; 0: no more */
    uint64_t waiting, inside; /* people */
};

/* A new definition (queue: NULL), or a changed one, that queue_def_check() has passed. SQ_EINVAL, SQ_ENOMEM;
 * SQ_ECONFLICT: lanes that may not go; people in a deleted queue of this name. */
SQ_CHECK int queue_define(struct mng *m, void *queue, const void *def, struct err *e);
/* Not final: nobody joins or is let in, everybody keeps what he has, and it can be restored
 * for undo_ms. Final: everybody is gone, also of one that was deleted before. */
SQ_CHECK int mng_queue_delete(struct mng *m, msec_t now_ms, const char *name, bool final,
                              struct mng_deleted_view *v, struct mng_out *out,
                              struct err *e);
/* SQ_ECONFLICT: it is there; SQ_EUNKNOWN: too late. */
SQ_CHECK int mng_queue_restore(struct mng *m, msec_t now_ms, const char *name,
                               struct mng_out *out, struct err *e);
/* Ends those whose time is over; once a second. */
void deletes_tick(struct mng *m);
/* Lists those that can be restored. */
void mng_each_deleted(const struct mng *m, mng_each_fn fn, void *ctx);

#endif
