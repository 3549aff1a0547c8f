/* region.c: see region.h. */
#include "queuemng/policy/region.h"

#include <stdio.h>
#include <string.h>

void region_add(struct region_joins *v, unsigned *n, const char *region, double per_s)
{
    unsigned i = 0;

    if (region[0] == '\0')
        return;
    while (i < *n && strcmp(v[i].region, region) != 0)
        i++;
    if (i == REGIONS_MAX)
        return;
    if (i == *n)
        v[(*n)++] = (struct region_joins){ region, 0 };
    v[i].per_s += per_s;
}

static double joins_of(const struct region_joins *v, unsigned n, const char *region)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(v[i].region, region) == 0)
            return v[i].per_s;
    return 0;
}

/* NULL: none has clearly more than the present one. */
static const struct region_joins *rival_of(const struct region_choice *x, const struct region_joins *v, unsigned n)
{
    double present = joins_of(v, n, x->region);
    const struct region_joins *most = NULL;

    for (unsigned i = 0; i < n; i++)
        if (most == NULL || v[i].per_s > most->per_s)
            most = &v[i];
    return most != NULL && most->per_s >= REGION_LEAST && most->per_s > 1.5 * present ? most : NULL;
}

bool region_second(struct region_choice *x, const struct region_joins *v, unsigned n, msec_t now_ms)
{
    const struct region_joins *rival = rival_of(x, v, n);

    if (rival == NULL) {
        x->rival[0] = '\0';
        return false;
    }
    if (strcmp(x->rival, rival->region) != 0) {
        snprintf(x->rival, sizeof(x->rival), "%s", rival->region);
        x->since_ms = now_ms;
    }
    if (x->region[0] != '\0' && now_ms - x->since_ms < REGION_HOLD_MS)
        return false;
    memcpy(x->region, x->rival, sizeof(x->region));
    x->rival[0] = '\0';
    return true;
}
