/* ctl_text.h: what tests of segqctl's texts share: a buffer as a text, an answer. */
#ifndef SEGQ_TESTS_CTL_TEXT_H
#define SEGQ_TESTS_CTL_TEXT_H

#include "tests/lib/criterion.h"
#include <jansson.h>

#include "common/base/buf.h"

static struct buf b;

static inline void text_begin(void)
{
    buf_init(&b);
}

static inline void text_end(void)
{
    buf_fini(&b);
}

static inline const char *text(void)
{
    buf_byte(&b, 0);
    b.len--;
    return (const char *)b.data;
}

static inline json_t *js(const char *s)
{
    json_error_t e;
    json_t *j = json_loads(s, JSON_DECODE_ANY, &e);

    cr_assert_not_null(j, "%s: %s", s, e.text);
    return j;
}

#endif
