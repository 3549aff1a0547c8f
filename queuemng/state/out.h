/* out.h: what a step of the manager hands to the shell: records to store or delete, messages
 * to send.
 *
 * Stores and deletes are noted in the order in which they are decided; out_sends() puts all
 * messages behind them, so that nothing is sent that depends on what is not stored yet. Texts
 * live in the outbox's arena until the next mng_out_reset(). Without memory box.failed is set,
 * and the whole step counts for nothing. */
#ifndef SEGQ_QUEUEMNG_STATE_OUT_H
#define SEGQ_QUEUEMNG_STATE_OUT_H

#include "common/wire/outbox.h"

struct json_t;
struct mng;
struct msg;

enum mng_act_kind { MNG_SEND, MNG_PUT, MNG_DEL };

struct mng_act {
    enum mng_act_kind kind;
    uint32_t item;            /* MNG_SEND: index into out->box.v */
    const char *key;          /* MNG_PUT, MNG_DEL */
    const char *val;          /* MNG_PUT: JSON text */
};

#define MNG_OUT_WHY_MAX 160

struct mng_out {
    struct outbox box;
    char why[MNG_OUT_WHY_MAX]; /* box.failed is set for another reason than memory */
    struct mng_act *act;
    uint32_t n, cap;
};

/* If box.failed is set after a step, there was no memory to note down what the core has
 * decided. Then nothing of that step may be stored or sent, and the core is of no use any
 * more: the shell makes another one from what is stored, as after a restart. */
void mng_out_init(struct mng_out *o);
void mng_out_fini(struct mng_out *o);
void mng_out_reset(struct mng_out *o);
void mng_begin(struct mng *m, msec_t now_ms, struct mng_out *out);
struct msg *mng_to(struct mng *m, peer_no p, enum msg_type t);
void out_put(struct mng *m, const char *key, const char *json);
/* NULL: no memory, or it has a text that is no UTF-8. */
void out_put_json(struct mng *m, const char *key, struct json_t *j);
void out_del(struct mng *m, const char *key);
void out_sends(struct mng *m);

#endif
