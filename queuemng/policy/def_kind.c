/* def_kind.c: the table. */
#include "queuemng/policy/def_kind.h"

#include <string.h>

#include "queuemng/policy/budget_def.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/queue_def.h"

static int budget_check(const void *def, struct err *e)
{
    return budget_def_check(def, e);
}

static int endpoint_check(const void *def, struct err *e)
{
    return endpoint_def_check(def, e);
}

static int pool_check(const void *def, struct err *e)
{
    return pool_def_check(def, e);
}

static int queue_check(const void *def, struct err *e)
{
    return queue_def_check(def, e);
}

_Static_assert(offsetof(struct queue_def, name) == 0 && offsetof(struct pool_def, match) == 0 &&
                   offsetof(struct endpoint_def, name) == 0 && offsetof(struct budget_def, name) == 0,
               "the name is first");
const struct def_kind def_kinds[] = {
    [DEF_BUDGET] = { "budget", "budgets", "/v1/admin/budgets", "/v1/admin/budgets/*", "name",
                     budget_def_keys, sizeof(struct budget_def), budget_check,
                     offsetof(struct budget_def, limits) },
    [DEF_ENDPOINT] = { "endpoint", "endpoints", "/v1/admin/endpoints", "/v1/admin/endpoints/*", "name",
                       endpoint_def_keys, sizeof(struct endpoint_def), endpoint_check, 0 },
    [DEF_POOL] = { "pool", "pools", "/v1/admin/pools", "/v1/admin/pools/*", "match", pool_def_keys,
                   sizeof(struct pool_def), pool_check, offsetof(struct pool_def, limits) },
    [DEF_QUEUE] = { "queue", "queues", "/v1/admin/queues", "/v1/admin/queues/*", "name", queue_def_keys,
                    sizeof(struct queue_def), queue_check, offsetof(struct queue_def, limits) },
    [DEF_QUEUE + 1] = { 0 },
};

const struct def_kind *def_kind_of(const char *word)
{
    for (const struct def_kind *k = def_kinds; k->word != NULL; k++)
        if (strcmp(k->word, word) == 0 || strcmp(k->words, word) == 0)
            return k;
    return NULL;
}
