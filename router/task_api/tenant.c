/* tenant.c: see tenant.h. */
#include "router/task_api/tenant.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"

static struct slice slice_of(const char *text)
{
    return (struct slice){ (char *)(uintptr_t)text, strlen(text) };
}

/* ---- its words --------------------------------------------------------------------------- */

static const char *read_key(struct tenant *t, const char *value)
{
    if (!task_key_ok(slice_of(value)))
        return "key= must be one or two levels (a/b), each of 1 to 64 visible ASCII characters";
    strcpy(t->key, value);
    return NULL;
}

/* A whole number up to `most`; -1: it is none. */
static long number(const char *value, long most)
{
    char *end;
    long v = strtol(value, &end, 10);

    return value[0] >= '0' && value[0] <= '9' && *end == '\0' && v <= most ? v : -1;
}

static const char *read_priority(struct tenant *t, const char *value)
{
    long v = number(value, TASK_PRIORITIES - 1);

    t->priority = (uint8_t)v;
    return v >= 0 ? NULL : "priority= must be a whole number from 0 to 7";
}

static const char *read_wait(struct tenant *t, const char *value)
{
    long v = number(value, TENANT_WAIT_MOST);

    t->wait_s = (uint16_t)v;
    return v > 0 ? NULL : "wait= must be whole seconds, from 1 to 3600";
}

static const char *read_cost(struct tenant *t, const char *value)
{
    long v = number(value, TASK_COST_MAX);

    t->cost = (uint32_t)v;
    return v > 0 ? NULL : "cost= must be a whole number from 1 to 1000000000";
}

static const char *read_paths(struct tenant *t, const char *value)
{
    static const char wrong[] =
        "paths= must be paths (/v1/chat/completions) or their beginnings (/v1/*), with commas between";
    const char *at = value;

    if (strlen(value) >= sizeof(t->paths))
        return "paths= is longer than 511 characters";
    do {
        size_t n = strcspn(at, ","), stars = n > 0 && at[n - 1] == '*';

        if (call_path_wrong(at, n - stars) != NULL || memchr(at, '?', n) != NULL ||
            memchr(at, '*', n - stars) != NULL)
            return wrong;
        at += n;
    } while (*at++ == ',');
    strcpy(t->paths, value);
    return NULL;
}

static const struct {
    const char *name;
    const char *(*read)(struct tenant *t, const char *value);
} words[] = { { "key", read_key },
              { "priority", read_priority },
              { "paths", read_paths },
              { "wait", read_wait },
              { "cost", read_cost } };

const char *tenant_read(struct tenant *t, char *text)
{
    unsigned seen = 0;
    char *rest = NULL;

    *t = (struct tenant){ .wait_s = TENANT_WAIT_S };
    for (char *w = strtok_r(text, " \t\r", &rest); w != NULL; w = strtok_r(NULL, " \t\r", &rest)) {
        size_t n = strcspn(w, "="), i = 0;
        const char *why;

        while (i < ARRAY_LEN(words) && (strlen(words[i].name) != n || memcmp(words[i].name, w, n) != 0))
            i++;
        if (i == ARRAY_LEN(words) || w[n] != '=')
            return "behind the queues key=, priority=, paths=, wait= and cost= may stand, of a tenant, and "
                   "nothing else";
        if ((seen >> i & 1) != 0)
            return "a word behind the queues stands twice";
        seen |= 1u << i;
        why = words[i].read(t, w + n + 1);
        if (why != NULL)
            return why;
    }
    return seen != 0 && t->key[0] == '\0' ? "priority=, paths=, wait= and cost= are a tenant's: key= is missing"
                                           : NULL;
}

/* ---- what it may ------------------------------------------------------------------------- */

bool tenant_may_call(const struct tenant *t, struct slice path)
{
    const char *mark = memchr(path.p, '?', path.n), *at = t->paths;

    if (*at == '\0')
        return true;
    if (mark != NULL)
        path.n = (size_t)(mark - path.p);
    do {
        size_t n = strcspn(at, ","), stars = at[n - 1] == '*';

        if ((stars ? path.n >= n - 1 : path.n == n) && memcmp(path.p, at, n - stars) == 0)
            return true;
        at += n;
    } while (*at++ == ',');
    return false;
}

bool tenant_bears(const struct tenant *t, int64_t cost)
{
    return t == NULL || t->cost == 0 || cost <= (int64_t)t->cost;
}

/* A text of the tenant becomes 32 digits that no other's become; every router must make the same, in
 * every release. */
static void scope(const struct tenant *t, struct slice *text, char out[33])
{
    crypto_generichash_state s;
    uint8_t hash[16];

    if (text->n == 0)
        return;
    crypto_generichash_init(&s, NULL, 0, sizeof(hash));
    crypto_generichash_update(&s, (const uint8_t *)t->key, strlen(t->key) + 1);
    crypto_generichash_update(&s, (const uint8_t *)text->p, text->n);
    crypto_generichash_final(&s, hash, sizeof(hash));
    sodium_bin2hex(out, 33, hash, sizeof(hash));
    *text = (struct slice){ out, 32 };
}

/* "tenant7/user42" is a key of tenant7. */
static bool is_of(const struct tenant *t, struct slice key)
{
    size_t n = strlen(t->key);

    return key.n >= n && memcmp(key.p, t->key, n) == 0 &&
           (key.n == n || (key.p[n] == '/' && strchr(t->key, '/') == NULL));
}

const char *tenant_bind(const struct tenant *t, struct task_body *b, struct tenant_texts *texts)
{
    if (t == NULL || t->key[0] == '\0')
        return NULL;
    b->is_tenants = true;
    if ((b->has & WITH(KEY)) != 0 && !is_of(t, b->key))
        return "this token is a tenant's: its tasks have the tenant's key (key)";
    if ((b->has & WITH(PRIORITY)) != 0 && b->priority > t->priority)
        return "this token is a tenant's: its tasks have no such priority (priority)";
    if (!tenant_bears(t, b->cost))
        return "this token is a tenant's: its tasks have no such cost (see cost= of its line in task_tokens)";
    if ((b->has & WITH(NAME)) != 0)
        return "this token is a tenant's: its tasks have no name, since names are for all of the queue; "
               "send an Idempotency-Key";
    if ((b->has & WITH(GROUP)) != 0)
        return "this token is a tenant's: its tasks are of no group, since groups are for all of the queue";
    if ((b->has & WITH(PATH)) != 0 && !tenant_may_call(t, b->path))
        return "this token may not call this path: see paths= of its line in task_tokens";
    if ((b->has & WITH(KEY)) == 0)
        b->key = slice_of(t->key);
    if ((b->has & WITH(PRIORITY)) == 0)
        b->priority = t->priority;
    scope(t, &b->idempotency_key, texts->idem);
    scope(t, &b->unique.key, texts->unique);
    return NULL;
}
