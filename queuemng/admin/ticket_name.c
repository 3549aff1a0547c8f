/* ticket_name.c: a token, or SEGMENT-NUMBER in its one spelling: no signs, no leading zeros. */
#include "queuemng/admin/ticket_name.h"

#include <string.h>

/* Digits up to `end` into *v, at most `max`; NULL: it is no such number. */
static const char *number(const char *s, char end, uint64_t max, uint64_t *v)
{
    const char *p = s;

    for (*v = 0; *p >= '0' && *p <= '9'; p++) {
        uint64_t d = (uint64_t)(*p - '0');

        if (*v > (max - d) / 10)
            return NULL;
        *v = *v * 10 + d;
    }
    if (p == s || *p != end || (s[0] == '0' && p > s + 1))
        return NULL;
    return p;
}

static int read_id(struct ticket_name *n, const char *text)
{
    uint64_t seg, no;
    const char *p = number(text, '-', UINT64_MAX, &seg);

    if (p == NULL || seg == 0 || number(p + 1, '\0', UINT32_MAX, &no) == NULL)
        return SQ_EINVAL;
    n->seg = seg;
    n->number = (uint32_t)no;
    return 0;
}

int ticket_name_read(struct ticket_name *n, const struct token_key *k, const char *text)
{
    struct token t;
    int rc;

    memset(n, 0, sizeof(*n));
    if (strlen(text) != TOKEN_TEXT_LEN)
        return read_id(n, text);
    rc = token_read(&t, k, text, TOKEN_TEXT_LEN);
    if (rc < 0)
        return rc;
    *n = (struct ticket_name){ .seg = t.seg,
                               .number = t.number,
                               .has_token = true,
                               .client = t.client,
                               .issued_s = t.issued_s,
                               .has_subject = t.subject_hash != 0 };
    return 0;
}
