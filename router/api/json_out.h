/* json_out.h: members of answers, written one by one. `before` is what stands before the value:
 * comma, name and colon. Pure. */
#ifndef SEGQ_ROUTER_API_JSON_OUT_H
#define SEGQ_ROUTER_API_JSON_OUT_H

#include "common/base/buf.h"

#define ADD(b, lit) buf_append(b, lit, sizeof(lit) - 1)

void out_u64(struct buf *b, const char *before, uint64_t v);
void out_id(struct buf *b, const char *before, uint64_t part, uint64_t no); /* quoted: "3-77" */
void out_or_null(struct buf *b, const char *before, int64_t v); /* null for -1 */
void out_word(struct buf *b, const char *before, const char *word); /* quoted; needs no escapes */
void out_text(struct buf *b, const char *before, const char *text); /* json_ascii() */
void out_millis(struct buf *b, const char *before, uint64_t ms);    /* seconds.millis */
void out_moment(struct buf *b, const char *before, int64_t ms);     /* the same; nothing for 0 */
void out_seconds(struct buf *b, const char *before, int64_t ms);    /* whole ones */
void out_bytes(struct buf *b, const char *before, const void *p, size_t n); /* JSON as it is */
void out_hex(struct buf *b, const uint8_t *p, size_t n);

#endif
