/* sign_in.h: tokens of the admin API in a running manager, and sessions of the dashboard: a cookie in
 * exchange for a token, so that no script has the token, nor an address.
 *
 *   segq_admin=NAME.PRINT.ID.BEGAN.END.MAC   HttpOnly; SameSite=Strict; Secure behind https
 *
 * NAME is the token's, PRINT the beginning of its hash, so that a token that is revoked or made anew ends
 * the session; times are Unix seconds. The MAC is under a key of the cluster's secret: each manager reads
 * what another one has written, and none is kept, so a change of the leader ends no session. END
 * moves when the dashboard says that somebody is there (POST session), to BEGAN and SIGN_IN_MOST_S at most.
 *
 * Against requests that another site makes a browser send: SameSite=Strict keeps the cookie from them;
 * since another port of the host is the same site, all calls but GET want a header, too, which a
 * foreign page cannot set (X-Segq-Dashboard), as no answer of ours allows it.
 *
 * Whom a proxy has signed in (service/routes.c) needs no session, and gets none.
 *
 * A sign-out takes the cookie from the browser, and this manager remembers ID (of the last thousand): a
 * copy, or one that a POST brings back that was under way, is good for nothing. It does so until a
 * restart, and alone: at another manager a copy is good until BEGAN and SIGN_IN_MOST_S, or until the token
 * is made anew. */
#ifndef SEGQ_MNG_SIGN_IN_H
#define SEGQ_MNG_SIGN_IN_H

#include "queuemng/admin/answers.h"

/* The file of tokens in a running manager: read at its start, again at HUP and by a call; and
 * what a bearer is told about itself. */

/* Fills mng_service.root, .tokens and .proxy_secret. */
SQ_CHECK int mng_tokens_start(struct mng_service *s, struct err *e);
/* A file that is refused leaves the old tokens; log, /healthz and dashboard say so. */
SQ_CHECK int mng_tokens_reload(struct mng_service *s, struct err *e);
/* admin_proxy_secret_file; an error: the secret from before stays. */
SQ_CHECK int mng_proxy_secret_read(struct mng_service *s, struct err *e);
void mng_tokens_end(struct mng_service *s);

void admin_tokens_reload(struct admin_call *c); /* POST /v1/admin/tokens/reload */
void admin_whoami(struct admin_call *c);        /* GET /v1/admin/whoami */

#define SIGN_IN_MOST_S (12 * 3600)

/* The token whose session the request's cookie is, with c->began_s and c->session. NULL: none, or it has
 * ended. */
const struct access_token *sign_in_token(struct admin_call *c);

void admin_sign_in(struct admin_call *c);  /* POST /v1/admin/session: begins one, or moves its end */
void admin_sign_out(struct admin_call *c); /* DELETE: ends it; a proxy's stays */

#endif
