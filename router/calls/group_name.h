/* group_name.h: the name of a group of places (places.h): version, client class, then the places;
 * encrypted under a key made of the cluster's token key. */
#ifndef SEGQ_ROUTER_GROUP_NAME_H
#define SEGQ_ROUTER_GROUP_NAME_H

#include "common/base/text.h"
#include "router/flow/places.h"

#define GROUP_NAME_ROOM 240 /* with its final 0 */

/* 0-terminated. Each time another text. */
void group_name_write(const struct places *p, const struct token_key *k, char out[GROUP_NAME_ROOM]);
/* Fills the tokens of p and its rule, which is all zero. False: it is not ours. */
SQ_CHECK bool group_name_read(struct places *p, const struct token_key *k, struct slice text);

#endif
