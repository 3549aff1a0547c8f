/* asks.h: the requests' text. All tokens lie in one array; a request is put together with
 * two copies, or none. */
#ifndef SEGQ_LOAD_ASKS_H
#define SEGQ_LOAD_ASKS_H

#include "common/base/err.h"
#include "common/base/rng.h"
#include "tests/bench/load/opts.h"

#define ASK_MAX 4096
#define ASK_TOKEN_MAX 256

struct ask_token {
    uint32_t at;  /* in the text */
    uint32_t len;
};

struct asks {
    char *text;              /* owned: the tokens' file; NULL: all requests are alike */
    struct ask_token *token; /* owned */
    uint64_t n_tokens;
    struct rng rng;
    size_t head_len;         /* of what is in front of the token */
    size_t tail_len;
    size_t last_len;         /* of the token that is in `out` */
    char tail[ASK_MAX];      /* what follows the token */
    char out[2 * ASK_MAX];
};

SQ_CHECK int asks_init(struct asks *a, const struct opts *o, struct err *e);
void asks_fini(struct asks *a);
/* The next request, good until the next call; *len: its length. */
const char *asks_next(struct asks *a, size_t *len);

#endif
