/* tokens.h: the file of tokens in a running manager: read at its start, again at HUP and by a call; and
 * what a bearer is told about itself. */
#ifndef SEGQ_MNG_TOKENS_H
#define SEGQ_MNG_TOKENS_H

#include "queuemng/admin/answers.h"

/* Fills mng_service.root, .tokens and .proxy_secret. */
SQ_CHECK int mng_tokens_start(struct mng_service *s, struct err *e);
/* A file that is refused leaves the old tokens; log, /healthz and dashboard say so. */
SQ_CHECK int mng_tokens_reload(struct mng_service *s, struct err *e);
/* admin_proxy_secret_file; an error: the secret from before stays. */
SQ_CHECK int mng_proxy_secret_read(struct mng_service *s, struct err *e);
void mng_tokens_end(struct mng_service *s);

void admin_tokens_reload(struct admin_call *c); /* POST /v1/admin/tokens/reload */
void admin_whoami(struct admin_call *c);        /* GET /v1/admin/whoami */

#endif
