/* zone.c: UTC needs nobody's answer. */
#include "common/recur/zone.h"

#include <ctype.h>
#include <string.h>

bool zone_name_ok(const char *name)
{
    size_t n = strlen(name);
    bool part = false; /* a part has begun */

    for (size_t i = 0; i < n; i++) {
        if (name[i] == '/' && !part)
            return false;
        part = name[i] != '/';
        if (part && !isalnum((unsigned char)name[i]) && strchr("_+-", name[i]) == NULL)
            return false;
    }
    return part && n <= ZONE_NAME_MAX;
}

bool zone_offset(const struct zone *z, int64_t at_s, int32_t *offset_s)
{
    *offset_s = 0;
    if (z->name[0] == '\0' || strcmp(z->name, "UTC") == 0)
        return true;
    return z->of != NULL && z->of->offset(z->of->ctx, z->name, at_s, offset_s);
}
