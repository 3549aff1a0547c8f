/* pooltest.h: how a test begins and ends with poolrig.h. */
#ifndef SEGQ_TESTS_POOLTEST_H
#define SEGQ_TESTS_POOLTEST_H

#include "tests/lib/criterion.h"

#include "tests/lib/poolrig.h"

static inline struct pr *rig(unsigned nodes, const char *pool)
{
    struct pr *r = pr_new(1);
    struct err e = { 0 };

    for (unsigned i = 0; i < nodes; i++)
        pr_node_run(r, (int)i, true);
    cr_assert_eq(pr_pool(r, pool, &e), 0, "%s", e.text);
    return r;
}

static inline void good(struct pr *r)
{
    cr_assert_str_empty(r->why, "%s", r->why);
}

static inline void done(struct pr *r)
{
    good(r);
    pr_free(r);
}

#endif
