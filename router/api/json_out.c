/* json_out.c: see json_out.h. */
#include "router/api/json_out.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/text.h"

void out_u64(struct buf *b, const char *before, uint64_t v)
{
    buf_str(b, before);
    buf_u64(b, v);
}

void out_id(struct buf *b, const char *before, uint64_t part, uint64_t no)
{
    buf_str(b, before);
    buf_byte(b, '"');
    buf_u64(b, part);
    buf_byte(b, '-');
    buf_u64(b, no);
    buf_byte(b, '"');
}

void out_or_null(struct buf *b, const char *before, int64_t v)
{
    buf_str(b, before);
    if (v < 0)
        ADD(b, "null");
    else
        buf_u64(b, (uint64_t)v);
}

void out_word(struct buf *b, const char *before, const char *word)
{
    buf_str(b, before);
    buf_byte(b, '"');
    buf_str(b, word);
    buf_byte(b, '"');
}

void out_text(struct buf *b, const char *before, const char *text)
{
    buf_str(b, before);
    json_ascii(b, text, strlen(text));
}

void out_millis(struct buf *b, const char *before, uint64_t ms)
{
    char t[DECIMAL_ROOM + 8];

    buf_str(b, before);
    buf_append(b, t, (size_t)(text_millis(t, ms) - t));
}

void out_moment(struct buf *b, const char *before, int64_t ms)
{
    if (ms > 0)
        out_millis(b, before, (uint64_t)ms);
}

void out_seconds(struct buf *b, const char *before, int64_t ms)
{
    buf_str(b, before);
    buf_i64(b, ms / 1000);
}

void out_bytes(struct buf *b, const char *before, const void *p, size_t n)
{
    buf_str(b, before);
    buf_append(b, p, n);
}

void out_hex(struct buf *b, const uint8_t *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        buf_byte(b, (uint8_t)digits[p[i] >> 4]);
        buf_byte(b, (uint8_t)digits[p[i] & 15]);
    }
}
