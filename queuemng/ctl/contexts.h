/* contexts.h: commands about files of the operator's own, which ask no manager: clusters by name, and tokens of
 * the admin API. */
#ifndef SEGQ_CTL_CONTEXTS_H
#define SEGQ_CTL_CONTEXTS_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_context_list(struct ctl *c, char **argv);
int cmd_context_show(struct ctl *c, char **argv);
int cmd_context_use(struct ctl *c, char **argv);
int cmd_context_add(struct ctl *c, char **argv);
int cmd_context_set(struct ctl *c, char **argv);
int cmd_context_delete(struct ctl *c, char **argv);

/* The file of tokens (access/tokens.h), as htpasswd does with its own. */

int cmd_token_add(struct ctl *c, char **argv);
int cmd_token_list(struct ctl *c, char **argv);
int cmd_token_revoke(struct ctl *c, char **argv);
void view_tokens_read(struct buf *b, const json_t *doc);

#endif
