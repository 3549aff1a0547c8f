/* json_body.h: the JSON body of a join, by a table of its members (json_members.h). Pure.
 * Unknown members are passed over; members that are there twice, wrong types, nesting over 32 and
 * anything that is not one JSON object in UTF-8 are refused. */
#ifndef SEGQ_ROUTER_API_JSON_BODY_H
#define SEGQ_ROUTER_API_JSON_BODY_H

#include "common/ticket/bound.h"
#include "common/submit/json_members.h"
#include "router/gate/signed_claim.h"

struct join_body {
    uint8_t client;                /* enum client_class */
    uint8_t subject_len, lane_len; /* 0: absent */
    bool any_lane;                 /* whoever asks may open it without a claim */
    uint16_t claim_len, altcha_len; /* 0: absent */
    uint8_t head_len;              /* bindings of the pass; 0: none */
    bool keyed;                    /* the subject stands for an Idempotency-Key */
    bool https;                    /* with device: how the join came */
    bool proved;                   /* likewise: it is the id of a key; else a secret */
    char device[DEVICE_LEN + 1];   /* "": its queue is not bound to devices */
    bool replaces;                 /* a claim that names a ticket to replace: */
    struct token old;
    char old_text[TOKEN_TEXT_LEN];
    char subject[SUBJECT_MAX_LEN];
    char lane[NAME_MAX_LEN];
    char claim[CLAIM_MAX_LEN];     /* not zeroed: only claim_len bytes are there */
    char head[SUBJECT_HEAD_MAX + 1]; /* likewise, head_len; ticket/bound.h */
    char *altcha; /* likewise, altcha_len: answer to a challenge, in the request's bytes */
};

extern const char *const join_clients[CLIENT_NCLASSES]; /* words of `client` */

/* False: *e says why. An empty text: all defaults. It is read where it lies, and changed by that. */
SQ_CHECK bool body_join(struct join_body *b, struct slice text, struct body_error *e);

#endif
