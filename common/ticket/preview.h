/* preview.h: the right of an operator to look at the waiting page's states without standing in line:
 * made by queuemng, checked by every router, for one queue and a short time. Pure.
 *
 *   1795430569.0123456789abcdef0123456789abcdef
 *   until when, Unix seconds; BLAKE2b-128 over queue and time, under a key made of the link key */
#ifndef SEGQ_PREVIEW_H
#define SEGQ_PREVIEW_H

#include "common/ticket/keys.h"

#define PREVIEW_TEXT_CAP 56
#define PREVIEW_TTL_S    3600

void preview_write(char out[PREVIEW_TEXT_CAP], const struct cluster_keys *k, const char *queue,
                   int64_t until_s);
/* Ours, for this queue, and not over (of a clock that is ahead: not for longer than twice TTL). */
bool preview_ok(const char *text, const struct cluster_keys *k, const char *queue, int64_t now_s);

#endif
