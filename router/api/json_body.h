/* json_body.h: the JSON body of a join. Pure (jansson).
 * Unknown members are ignored; duplicate members, wrong types, nesting over 32 and
 * anything that is not one JSON object in UTF-8 are refused. */
#ifndef SEGQ_ROUTER_BODY_H
#define SEGQ_ROUTER_BODY_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/ticket/bound.h"
#include "router/gate/signed_claim.h"

#define BODY_MAX_DEPTH 32

struct join_body {
    uint8_t client;                /* enum client_class */
    uint8_t subject_len, lane_len; /* 0: absent */
    bool any_lane;                 /* whoever asks may open it without a claim */
    uint16_t claim_len;            /* 0: absent */
    uint8_t head_len;              /* bindings of the pass; 0: none */
    bool keyed;                    /* the subject stands for an Idempotency-Key */
    bool replaces;                 /* a claim that names a ticket to replace: */
    struct token old;
    char old_text[TOKEN_TEXT_LEN];
    char subject[SUBJECT_MAX_LEN];
    char lane[NAME_MAX_LEN];
    char claim[CLAIM_MAX_LEN];     /* not zeroed: only claim_len bytes are there */
    char head[SUBJECT_HEAD_MAX];   /* likewise, head_len; ticket/bound.h */
};

/* 0, SQ_EINVAL (*why: one sentence of ours, nothing of the client's in it), SQ_ENOMEM.
 * n == 0: an empty body, all defaults. */
SQ_CHECK int body_join(struct join_body *b, const char *p, size_t n, const char **why);
/* Nested deeper than BODY_MAX_DEPTH: jansson, which recurs, must not see it. */
bool body_too_deep(const char *p, size_t n);
/* The same by jansson alone; n > 0. For tests. */
SQ_CHECK int body_join_any(struct join_body *b, const char *p, size_t n, const char **why);

#endif
