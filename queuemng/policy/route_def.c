/* route_def.c: the table of a route's definition, and what a table cannot say. */
#include "queuemng/policy/route_def.h"

#include <string.h>

#include "common/task/rules.h"
#include "common/task/queue_name.h"

#define RULE(f) offsetof(struct route_rule, f)
static const struct cfg_key rule_keys[] = {
    { "match", CFG_STRS, RULE(match), "", 0, ROUTE_MATCHES_MAX, true,
      "values of the word, or their beginnings and a star (gpt-*); none = every request, also one "
      "without the word", 0, 0, 0 },
    { "endpoints", CFG_STRS, RULE(endpoints), NULL, 1, ROUTE_ENDPOINTS_MAX, true,
      "where it goes; to the next one if the one before is down or paused, or its line too long", 0, 0, 0 },
    { "max_wait", CFG_MS, RULE(max_wait_ms), "0", 0, 400 * 86400e3, true,
      "estimated wait beyond which the next of `endpoints` gets it; 0 = any", 0, 0, 0 },
    { 0 },
};

#define AT(f) offsetof(struct route_def, f)
const struct cfg_key route_def_keys[] = {
    { "name", CFG_STR, AT(name), NULL, 1, TASK_NAME_MAX, true, "its name in /v1/route/NAME/PATH", 0, 0, 0 },
    { "pointer", CFG_STR, AT(pointer), "/model", 2, ROUTE_TEXT_MAX, true,
      "where the word is in the body, a JSON object: names of members, a slash before each", 0, 0, 0 },
    { "rules", CFG_OBJS, AT(rules), NULL, 1, ROUTE_RULES_MAX, true,
      "the first whose match fits says where a request goes", 0, rule_keys, sizeof(struct route_rule) },
    { 0 },
};

static int rule_check(const struct route_rule *r, size_t i, struct err *e)
{
    char *const *match = r->match.v, *const *to = r->endpoints.v;

    for (size_t k = 0; k < r->match.n; k++) {
        const char *star = strchr(match[k], '*');

        if (match[k][0] == '\0' || strlen(match[k]) > ROUTE_TEXT_MAX)
            return err_set(e, SQ_EINVAL, "rules.%zu: match.%zu has 1 to %d bytes", i, k, ROUTE_TEXT_MAX);
        if (star != NULL && star[1] != '\0')
            return err_set(e, SQ_EINVAL, "rules.%zu: match.%zu: a star stands at the end alone", i, k);
    }
    for (size_t k = 0; k < r->endpoints.n; k++) {
        if (!queue_name_ok(to[k], strlen(to[k])))
            return err_set(e, SQ_EINVAL, "rules.%zu: endpoints.%zu is no name", i, k);
        for (size_t j = 0; j < k; j++)
            if (strcmp(to[j], to[k]) == 0)
                return err_set(e, SQ_EINVAL, "rules.%zu: endpoint %s is there twice", i, to[k]);
    }
    return 0;
}

int route_def_check(const struct route_def *d, struct err *e)
{
    const struct route_rule *r = d->rules.v;
    int rc = 0;

    if (strchr(d->name, '/') != NULL || !queue_name_ok(d->name, strlen(d->name)))
        return err_set(e, SQ_EINVAL, "route %s: name: small letters, digits, . _ -", d->name);
    if (cost_pointer_wrong(d->pointer) != NULL)
        return err_set(e, SQ_EINVAL, "route %s: pointer: %s", d->name, cost_pointer_wrong(d->pointer));
    for (size_t i = 0; rc == 0 && i < d->rules.n; i++) {
        rc = rule_check(&r[i], i, e);
        if (rc == 0 && r[i].match.n == 0 && i + 1 < d->rules.n)
            rc = err_set(e, SQ_EINVAL, "rules.%zu fits every request: none behind it would count", i);
    }
    return rc < 0 ? err_wrap(e, "route %s", d->name) : 0;
}
