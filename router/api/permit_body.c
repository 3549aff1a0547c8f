/* permit_body.c: see permit_body.h. */
#include "router/api/permit_body.h"

#include <string.h>

#include "common/base/json_in.h"

/* Nearly every other body is told by its bytes. */
static bool has_word(const char *p, size_t n)
{
    static const char word[] = "\"permit\"";

    for (size_t i = 0; i + sizeof(word) - 1 <= n; i++)
        if (p[i] == '"' && memcmp(p + i, word, sizeof(word) - 1) == 0)
            return true;
    return false;
}

static json_t *permit_of(const char *p, size_t n)
{
    json_t *o = NULL, *kind;

    if (has_word(p, n) && !body_too_deep(p, n))
        o = json_in(p, n, NULL);
    kind = json_object_get(o, "kind");
    if (json_is_string(kind) && strcmp(json_string_value(kind), "permit") == 0)
        return o;
    json_decref(o);
    return NULL;
}

bool body_is_permit(const char *p, size_t n)
{
    json_t *o = permit_of(p, n);

    json_decref(o);
    return o != NULL;
}

/* False: it is there, and unfit. */
static bool take(char *to, const json_t *m, bool (*ok)(const char *))
{
    const char *s = json_string_value(m);

    if (m == NULL)
        return true;
    if (s == NULL || !ok(s))
        return false;
    strcpy(to, s); /* it fits, says ok() */
    return true;
}

static int read_bound(struct bound *b, const json_t *o, const char **why)
{
    const json_t *use = json_object_get(o, "use");

    *why = "htm must be a method in 1 to 16 capital letters";
    if (!take(b->htm, json_object_get(o, "htm"), bound_htm_ok))
        return SQ_EINVAL;
    *why = "htu must be a path of 1 to 100 characters, without escapes, dots or a query";
    if (!take(b->htu, json_object_get(o, "htu"), bound_htu_ok))
        return SQ_EINVAL;
    *why = "use can only be \"once\"";
    b->once = use != NULL;
    return use == NULL || (json_is_string(use) && strcmp(json_string_value(use), "once") == 0)
               ? 0
               : SQ_EINVAL;
}

int body_permit(struct join_body *b, const char *p, size_t n, const char **why)
{
    struct bound bound = { 0 };
    json_t *o = permit_of(p, n);
    size_t len;
    int rc;

    if (o == NULL) /* it was one, body_is_permit() said */
        return SQ_ENOMEM;
    rc = read_bound(&bound, o, why);
    json_decref(o);
    if (rc < 0)
        return rc;
    len = bound_write(&bound, b->head + 2);
    if (len > 0) {
        b->head[0] = SUBJECT_BOUND_MARK;
        b->head[1] = (char)len;
        b->head_len = (uint8_t)(len + 2);
    }
    return 0;
}
