/* json_in.c: JSON of others. Pure. */
#include "common/base/json_in.h"

#include <string.h>

static json_t *refuse(json_error_t *e, const char *p, const char *nul)
{
    if (e == NULL)
        return NULL;
    memset(e, 0, sizeof(*e));
    e->line = 1;
    for (; p < nul; p++)
        e->line += *p == '\n';
    strcpy(e->text, "a NUL is no JSON");
    return NULL;
}

json_t *json_in(const char *p, size_t n, json_error_t *e)
{
    const char *nul = n > 0 ? memchr(p, '\0', n) : NULL;

    if (nul != NULL)
        return refuse(e, p, nul);
    return json_loadb(n > 0 ? p : "", n, JSON_REJECT_DUPLICATES, e);
}
