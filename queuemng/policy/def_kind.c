/* def_kind.c: the table. */
#include "queuemng/policy/def_kind.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
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

static int pin_check(const void *def, struct err *e)
{
    return key_pin_check(def, e);
}

static int pool_check(const void *def, struct err *e)
{
    return pool_def_check(def, e);
}

static int route_check(const void *def, struct err *e)
{
    return route_def_check(def, e);
}

static int queue_check(const void *def, struct err *e)
{
    return queue_def_check(def, e);
}

_Static_assert(offsetof(struct queue_def, name) == 0 && offsetof(struct pool_def, match) == 0 &&
                   offsetof(struct endpoint_def, name) == 0 && offsetof(struct budget_def, name) == 0 &&
                   offsetof(struct key_pin, key) == 0 && offsetof(struct route_def, name) == 0,
               "the name is first");
_Static_assert(sizeof(struct queue_def) <= DEF_SIZE_MAX && sizeof(struct pool_def) <= DEF_SIZE_MAX &&
                   sizeof(struct endpoint_def) <= DEF_SIZE_MAX &&
                   sizeof(struct budget_def) <= DEF_SIZE_MAX && sizeof(struct key_pin) <= DEF_SIZE_MAX &&
                   sizeof(struct route_def) <= DEF_SIZE_MAX,
               "buffers of this size take each");
const struct def_kind def_kinds[DEF_NKINDS] = {
    [DEF_BUDGET] = { "budget", "budgets", "/v1/admin/budgets", "/v1/admin/budgets/*", "name",
                     budget_def_keys, sizeof(struct budget_def), budget_check,
                     offsetof(struct budget_def, limits), 0 },
    [DEF_ENDPOINT] = { "endpoint", "endpoints", "/v1/admin/endpoints", "/v1/admin/endpoints/*", "name",
                       endpoint_def_keys, sizeof(struct endpoint_def), endpoint_check, 0, 0 },
    [DEF_POOL] = { "pool", "pools", "/v1/admin/pools", "/v1/admin/pools/*", "match", pool_def_keys,
                   sizeof(struct pool_def), pool_check, offsetof(struct pool_def, limits), 0 },
    [DEF_QUEUE] = { "queue", "queues", "/v1/admin/queues", "/v1/admin/queues/*", "name", queue_def_keys,
                    sizeof(struct queue_def), queue_check, offsetof(struct queue_def, limits), 0 },
    [DEF_ROUTE] = { "route", "routes", "/v1/admin/routes", "/v1/admin/routes/*", "name", route_def_keys,
                    sizeof(struct route_def), route_check, 0, 0 },
    [DEF_FILE_END] = { 0 },
    [DEF_PIN] = { "key", "keys", "/v1/admin/pinned-keys", "/v1/admin/task-queues/*/tasks/keys/*", "key",
                  key_pin_keys, sizeof(struct key_pin), pin_check, 0, offsetof(struct key_pin, queue) },
};

const struct def_kind *def_kind_of(const char *word)
{
    for (const struct def_kind *k = def_kinds; k->word != NULL; k++)
        if (strcmp(k->word, word) == 0 || strcmp(k->words, word) == 0)
            return k;
    return NULL;
}

static const char *scope(const struct def_kind *k, const void *def)
{
    return *(char *const *)((const char *)def + k->scope);
}

void def_full_name(const struct def_kind *k, const void *def, char out[DEF_NAME_MAX + 1])
{
    int n = k->scope == 0 ? snprintf(out, DEF_NAME_MAX + 1, "%s", def_name(def))
                          : snprintf(out, DEF_NAME_MAX + 1, "%s:%s", scope(k, def), def_name(def));

    assert(n >= 0 && n <= DEF_NAME_MAX); /* the tables of keys see to it */
    (void)n;
}

bool def_is_named(const struct def_kind *k, const void *def, const char *full_name)
{
    size_t n = k->scope == 0 ? 0 : strlen(scope(k, def));

    if (k->scope == 0)
        return strcmp(def_name(def), full_name) == 0;
    return strncmp(scope(k, def), full_name, n) == 0 && full_name[n] == ':' &&
           strcmp(def_name(def), full_name + n + 1) == 0;
}

struct json_t *def_keys_json(const void *def, const struct cfg_key *keys)
{
    json_t *j = NULL;
    struct buf b;

    buf_init(&b);
    cfg_dump_json(&b, def, keys);
    if (!b.failed)
        j = json_loadb((const char *)b.data, b.len, 0, NULL);
    buf_fini(&b);
    return j;
}
