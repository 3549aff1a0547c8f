/* names.c: see the header. */
#include "queuemng/tasks/names.h"

#include <stdlib.h>
#include <string.h>

struct mname *name_at(const struct mendpoint *x, const char *url)
{
    each_name(x, n)
        if (strcmp(n->url, url) == 0)
            return n;
    return NULL;
}

static void name_free(struct mendpoint *x, struct mname *n)
{
    list_remove(&x->names, &n->in);
    free(n->url);
    free(n);
}

void names_free(struct mendpoint *x)
{
    each_name(x, n)
        name_free(x, n);
}

static int name_new(struct mendpoint *x, const char *url, const char *was)
{
    struct mname *n = calloc(1, sizeof(*n));

    if (n == NULL || (n->url = strdup(url)) == NULL) {
        free(n);
        return SQ_ENOMEM;
    }
    n->was_url = strcmp(url, was) == 0;
    list_push_back(&x->names, &n->in);
    each_target(x, t)
        if (!t->gone && t->address[0] != 0 && strcmp(t->def.url, url) == 0)
            (void)discovered_add(&n->d, t->address);
    return 0;
}

int names_follow(struct mendpoint *x, const char *was)
{
    const struct endpoint_target *v = x->def.targets.v;
    int rc = 0;

    each_name(x, n) {
        const struct endpoint_target *g = endpoint_target_of(&x->def, n->url);

        if (g == NULL || g->discover == DISCOVER_NONE)
            name_free(x, n);
        else
            n->d.due = 0; /* bounds may be others */
    }
    for (size_t i = 0; rc == 0 && i < x->def.targets.n; i++)
        if (v[i].discover == DISCOVER_DNS && name_at(x, v[i].url) == NULL)
            rc = name_new(x, v[i].url, was);
    return rc;
}
