/* permit_body.c: see permit_body.h. */
#include "router/api/permit_body.h"

#include <string.h>

#include "common/base/json_in.h"

bool body_may_be_permit(const char *p, size_t n)
{
    static const char word[] = "\"permit\"";

    for (size_t i = 0; i + sizeof(word) - 1 <= n; i++)
        if (p[i] == '"' && memcmp(p + i, word, sizeof(word) - 1) == 0)
            return true;
    return false;
}

int body_permit(struct bound *b, struct slice body, const char **why)
{
    json_t *o = body_too_deep(body.p, body.n) ? NULL : json_in(body.p, body.n, NULL);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    int rc = SQ_EUNKNOWN;

    if (kind != NULL && strcmp(kind, "permit") == 0) {
        *why = bound_take(b, o);
        rc = *why == NULL ? 0 : SQ_EINVAL;
    }
    json_decref(o);
    return rc;
}

void body_bind(struct join_body *j, const struct bound *b)
{
    size_t n = bound_write(b, j->head + 2);

    j->head[0] = SUBJECT_BOUND_MARK;
    j->head[1] = (char)n;
    j->head_len = (uint8_t)(n > 0 ? n + 2 : 0);
}
