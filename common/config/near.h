/* near.h: of several names the one that was meant. Pure. */
#ifndef SEGQ_NEAR_H
#define SEGQ_NEAR_H

#include <limits.h>
#include <string.h>

#include "common/base/base.h"

/* How many letters have to be put in, taken out, changed, or swapped with the next one; long texts
 * are far from all. By V. Levenshtein's rows. */
static inline unsigned near_distance(const char *a, const char *b)
{
    unsigned rows[3][40];
    size_t n = strlen(b), m = strlen(a);

    if (n >= ARRAY_LEN(rows[0]) || m >= ARRAY_LEN(rows[0]))
        return UINT_MAX;
    for (unsigned j = 0; j <= n; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= m; i++) {
        const unsigned *up2 = rows[(i + 1) % 3], *up = rows[(i - 1) % 3];
        unsigned *row = rows[i % 3];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            unsigned least = up[j - 1] + (a[i - 1] != b[j - 1]);

            least = up[j] + 1 < least ? up[j] + 1 : least;
            least = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < least)
                least = up2[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[m % 3][n];
}

struct near {
    const char *typed, *name; /* refs; name: the nearest one so far, NULL: none is near */
    unsigned best;            /* only a distance below this is nearer */
};

/* Two letters may be wrong; of a short word less than the half. */
static inline struct near near_to(const char *typed)
{
    size_t half = (strlen(typed) + 1) / 2;

    return (struct near){ .typed = typed, .best = half < 3 ? (unsigned)half : 3 };
}

static inline void near_try(struct near *n, const char *name)
{
    unsigned d = near_distance(name, n->typed);

    if (d < n->best) {
        n->best = d;
        n->name = name;
    }
}

#endif
