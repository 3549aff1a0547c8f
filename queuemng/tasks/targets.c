/* targets.c: see the header. */
#include "queuemng/tasks/targets.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"
#include "queuemng/tasks/endpoint_tell.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

struct mendpoint *bearer_next(const struct mng *m, const struct mendpoint *x)
{
    const struct mendpoint *of = x == NULL ? NULL : x->of != NULL ? x->of : x;
    struct list_node *n = x == NULL ? NULL : x->of != NULL ? x->in.next : x->targets.head.next;

    if (of != NULL && n != &of->targets.head)
        return container_of(n, struct mendpoint, in);
    n = of == NULL ? m->tasks.endpoints.head.next : of->in.next;
    return n != &m->tasks.endpoints.head ? container_of(n, struct mendpoint, in) : NULL;
}

static struct mendpoint *target_at(const struct mendpoint *x, uint32_t no)
{
    each_target(x, t)
        if (t->no == no)
            return t;
    return NULL;
}

static struct mendpoint *target_of(const struct mendpoint *x, const char *url, const char *address)
{
    each_target(x, t)
        if (strcmp(t->def.url, url) == 0 && strcmp(t->address, address) == 0)
            return t;
    return NULL;
}

struct mendpoint *bearer_find(const struct mng *m, const char *name)
{
    const char *sign = strchr(name, TARGET_SIGN);
    char of[TASK_NAME_MAX + 1];
    struct mendpoint *x;

    if (sign == NULL)
        return defined_find(m, DEF_ENDPOINT, name);
    snprintf(of, sizeof(of), "%.*s", (int)(sign - name), name);
    x = defined_find(m, DEF_ENDPOINT, of);
    return x != NULL ? target_at(x, (uint32_t)strtoul(sign + 1, NULL, 10)) : NULL;
}

static struct mendpoint *target_new(struct mendpoint *x, uint32_t no, const char *url, const char *address)
{
    struct mendpoint *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->of = x;
    t->no = no;
    t->gone = true;
    list_init(&t->shares);
    list_init(&t->targets);
    list_init(&t->names);
    copy_text(t->address, sizeof(t->address), address);
    list_push_back(&x->targets, &t->in);
    t->def.url = strdup(url);
    if (t->def.url != NULL)
        return t;
    list_remove(&x->targets, &t->in);
    free(t);
    return NULL;
}

static int replace_text(char **to, const char *text)
{
    char *v = strdup(text);

    if (v == NULL)
        return SQ_ENOMEM;
    free(*to);
    *to = v;
    return 0;
}

static const struct cfg_key rates_key[] = { UNIT_RATES_KEY(0, ""), { 0 } };

/* g: NULL: it has gone. */
static int fit(struct mendpoint *t, const struct endpoint_target *g)
{
    const struct endpoint_def *of = &t->of->def;
    char name[TASK_NAME_MAX + 1];
    struct endpoint_def d = { 0 };
    int rc = cfg_copy(&d, sizeof(d), endpoint_def_keys, of);

    snprintf(name, sizeof(name), "%.*s%c%u", TARGETED_NAME_MAX, of->name, TARGET_SIGN, t->no & TARGET_NO_MAX);
    rc = rc
        ?: replace_text(&d.name, name)
        ?: replace_text(&d.url, t->def.url)
        ?: replace_text(&d.budget.name, "");
    cfg_clear(&d.rates, rates_key);
    if (rc == 0 && g != NULL)
        rc = cfg_copy_keys(&d.rates, rates_key, &g->rates);
    if (rc == 0 && t->version != 0) /* else it is loaded, or new */
        windows_change(NULL, t, &d.rates, "");
    if (rc < 0) {
        cfg_clear(&d, endpoint_def_keys);
        return rc;
    }
    cfg_each_key (k, endpoint_def_keys)
        if (strcmp(k->key, "targets") == 0)
            cfg_field_clear(&d.targets, k);
    d.rate_per_s = 0;
    d.burst = 1;
    d.max_concurrent = g != NULL ? g->max_concurrent : 0;
    d.paused = g == NULL || g->draining;
    cfg_clear(&t->def, endpoint_def_keys);
    t->def = d;
    t->weight = g != NULL ? (uint32_t)g->weight : 1;
    t->gone = g == NULL;
    t->version = t->of->version;
    return 0;
}

/* Calls to this target may be what nodes hold of the endpoint. */
static bool holds_all(struct mendpoint *t)
{
    each_share(t->of, o) {
        struct mshare *s = share_at(t, o->node);

        if (s == NULL)
            return false;
        s->held = (struct bears){ ENDPOINT_ANY, u64_max(s->held.slots, o->held.slots), s->held.units,
                                   s->held.shared };
    }
    return true;
}

static struct mendpoint *add(struct mendpoint *x, const char *url, const char *address)
{
    uint32_t no = 1;

    while (no <= TARGET_NO_MAX && target_at(x, no) != NULL)
        no++;
    return no <= TARGET_NO_MAX ? target_new(x, no, url, address) : NULL;
}

static size_t bearers(const struct mng *m, const struct mendpoint *but)
{
    size_t n = 0;

    each_bearer(m, y)
        n += y != but && (y->of == NULL || y->of != but);
    return n;
}

int targets_room(const struct mng *m, const struct mendpoint *x, const struct endpoint_def *d, struct err *e)
{
    const struct endpoint_target *v = d->targets.v;
    size_t n = x != NULL ? x->targets.n : 0;

    for (size_t i = 0; i < d->targets.n; i++)
        n += v[i].discover == DISCOVER_NONE && (x == NULL || target_of(x, v[i].url, "") == NULL);
    if (n > TARGET_NO_MAX)
        return err_set(e, SQ_ECONFLICT, "endpoint %s: targets: too many that are gone still have calls: try again "
                       "when these have ended", d->name);
    return 1 + bearers(m, x) + n <= ENDPOINTS_MAX
               ? 0 : err_set(e, SQ_ECONFLICT, "endpoint %s: a cluster has at most %d, each target counted", d->name,
                             ENDPOINTS_MAX);
}

/* Finds it in the definition; NULL: it has gone. */
static const struct endpoint_target *wanted(const struct mendpoint *t)
{
    const struct endpoint_target *g = endpoint_target_of(&t->of->def, t->def.url);
    bool discovers = g != NULL && g->discover == DISCOVER_DNS;

    if (discovers != (t->address[0] != 0) || (discovers && !discovered_has(&name_at(t->of, t->def.url)->d, t->address)))
        return NULL;
    return g;
}

static int fit_all(struct mng *m, struct mendpoint *x)
{
    int rc = 0;

    each_target(x, t)
        if (rc == 0)
            rc = fit(t, wanted(t));
    targets_obey(x);
    m->tasks.split = true;
    return rc;
}

int targets_follow(struct mng *m, struct mendpoint *x, const char *was, struct err *e)
{
    const struct endpoint_target *v = x->def.targets.v;
    int rc = names_follow(x, was);

    for (size_t i = 0; rc == 0 && i < x->def.targets.n; i++) {
        struct mendpoint *t = target_of(x, v[i].url, "");

        if (v[i].discover == DISCOVER_DNS)
            continue;
        if (t == NULL)
            t = add(x, v[i].url, "");
        if (t == NULL || (strcmp(v[i].url, was) == 0 && !holds_all(t)))
            rc = SQ_ENOMEM;
    }
    if (rc == 0)
        rc = fit_all(m, x);
    return rc == 0 ? 0 : err_set(e, rc, "endpoint %s: targets: out of memory", x->def.name);
}

int targets_discover(struct mng *m, struct mendpoint *x, struct mname *n)
{
    int rc;

    for (unsigned i = 0; i < n->d.n; i++) {
        struct mendpoint *t = target_of(x, n->url, n->d.address[i]);

        if (t == NULL && bearers(m, NULL) < ENDPOINTS_MAX)
            t = add(x, n->url, n->d.address[i]);
        if (t != NULL && n->was_url && !holds_all(t))
            return SQ_ENOMEM;
    }
    n->was_url = false;
    x->orders = (m->epoch << 32) + ++m->tasks.serials; /* they are told, although the definition is as it was */
    rc = fit_all(m, x);
    endpoint_put_later(m, x);
    return rc;
}

unsigned targets_of_name(const struct mendpoint *x, const char *url)
{
    unsigned n = 0;

    each_target(x, t)
        n += t->address[0] != 0 && !t->gone && strcmp(t->def.url, url) == 0;
    return n;
}

void targets_obey(struct mendpoint *x)
{
    each_target(x, t) {
        t->tripped = x->tripped;
        t->resets = x->resets;
        t->probe = x->probe;
        t->orders = x->orders;
    }
}

/* Some node may have calls of it, or does not know yet that no more begin. */
static bool is_held(const struct mendpoint *t)
{
    each_share(t, s)
        if (s->held.slots != 0 || (s->node->registered && s->serial != 0 && !s->confirmed))
            return true;
    return false;
}

void targets_tidy(struct mng *m, struct mendpoint *x)
{
    each_target(x, t) {
        if (!t->gone || is_held(t))
            continue;
        log_info("event=target_gone endpoint=%s url=%s address=%s", x->def.name,
                 log_q(t->def.url, strlen(t->def.url)), t->address);
        each_share(t, s)
            endpoint_drop(m, s->node, t->def.name);
        target_free(t);
        endpoint_put_later(m, x);
    }
}

void targets_drop(struct mng *m, const struct mendpoint *x)
{
    each_target(x, t)
        each_share(t, s)
            endpoint_drop(m, s->node, t->def.name);
}

/* ---- stored ------------------------------------------------------------------------------------ */

static json_t *target_json(const struct mendpoint *t, json_t *shares)
{
    json_t *windows = meters_json(t->meter, &t->def.rates);
    json_t *j = json_pack("{s:I,s:s,s:o}", "no", (json_int_t)t->no, "url", t->def.url, "shares", shares);

    if (t->address[0] != 0)
        (void)(json_object_set_new(j, "address", json_string(t->address)) < 0 ||
               json_object_set_new(j, "gone", json_boolean(t->gone)) < 0);
    if (windows != NULL)
        (void)json_object_set_new(j, "windows", windows);
    return j;
}

json_t *targets_json(const struct mendpoint *x, json_t *(*shares)(const struct mendpoint *t))
{
    json_t *list = json_array();

    each_target(x, t)
        if (json_array_append_new(list, target_json(t, shares(t))) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

struct mendpoint *target_load(struct mendpoint *x, json_t *j)
{
    json_int_t no = json_integer_value(json_object_get(j, "no"));
    const char *url = json_string_value(json_object_get(j, "url"));
    const char *address = json_string_value(json_object_get(j, "address"));
    struct mendpoint *t;

    if (no < 1 || no > TARGET_NO_MAX || url == NULL || target_at(x, (uint32_t)no) != NULL)
        return NULL;
    t = target_new(x, (uint32_t)no, url, address != NULL ? address : "");
    if (t != NULL && address != NULL)
        t->gone = json_is_true(json_object_get(j, "gone"));
    if (t != NULL)
        meters_load(t->meter, json_object_get(j, "windows"));
    return t;
}

/* ---- routes of calls ---- */


static bool names(const struct route_def *d, const char *endpoint)
{
    const struct route_rule *r = d->rules.v;

    for (size_t i = 0; i < d->rules.n; i++)
        for (size_t k = 0; k < r[i].endpoints.n; k++)
            if (strcmp(((char *const *)r[i].endpoints.v)[k], endpoint) == 0)
                return true;
    return false;
}

const char *route_with(const struct mng *m, const char *endpoint)
{
    each_route(m, x)
        if (names(&x->def, endpoint))
            return x->def.name;
    return NULL;
}

static int endpoints_there(const struct mng *m, const struct route_def *d, struct err *e)
{
    const struct route_rule *r = d->rules.v;

    for (size_t i = 0; i < d->rules.n; i++)
        for (size_t k = 0; k < r[i].endpoints.n; k++) {
            const char *name = ((char *const *)r[i].endpoints.v)[k];

            if (defined_find(m, DEF_ENDPOINT, name) == NULL)
                return err_set(e, SQ_EINVAL, "route %s: there is no endpoint %s", d->name, name);
        }
    return 0;
}

int route_define(struct mng *m, void *x, const void *def, struct err *e)
{
    const struct route_def *d = def;
    int rc = endpoints_there(m, d, e);

    if (rc < 0 || (x != NULL && defined_equals(DEF_ROUTE, x, d)))
        return rc;
    if (x != NULL)
        rc = defined_change(DEF_ROUTE, x, d, e);
    else if (m->tasks.routes.n >= ROUTES_MAX)
        rc = err_set(e, SQ_ECONFLICT, "route %s: a cluster has at most %d", d->name, ROUTES_MAX);
    else if ((x = defined_new(m, DEF_ROUTE, d)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "route %s: out of memory", d->name);
    if (rc < 0)
        return rc;
    defined_put(m, DEF_ROUTE, x, defined_json(DEF_ROUTE, x));
    task_map_changed(m);
    log_info("event=route_changed route=%s version=%llu", d->name,
             (unsigned long long)defined_version(DEF_ROUTE, x));
    return 0;
}

void route_remove(struct mng *m, void *x)
{
    log_warn("event=route_removed route=%s", ((struct mroute *)x)->def.name);
    defined_del(m, DEF_ROUTE, x);
    defined_free(m, DEF_ROUTE, x);
    task_map_changed(m);
}

int route_load(struct mng *m, const char *key, struct json_t *j, struct err *e)
{
    void *x;

    return defined_load(m, DEF_ROUTE, key, j, &x, e);
}
