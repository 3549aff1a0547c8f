/* token_file.h: the file of tokens of the admin API (access/tokens.h), from the command line, as htpasswd
 * does with its own: no manager is asked. */
#ifndef SEGQ_CTL_TOKEN_FILE_H
#define SEGQ_CTL_TOKEN_FILE_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_token_add(struct ctl *c, char **argv);
int cmd_token_list(struct ctl *c, char **argv);
int cmd_token_revoke(struct ctl *c, char **argv);
void view_tokens_read(struct buf *b, const json_t *doc);

#endif
