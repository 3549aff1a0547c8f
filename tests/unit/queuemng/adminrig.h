/* adminrig.h: the admin API on a real service with a store of its own; no HTTP in between. */
#ifndef SEGQ_TESTS_ADMINRIG_H
#define SEGQ_TESTS_ADMINRIG_H

#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "queuemng/process/manager.h"
#include "queuemng/service/metrics.h"
#include "queuemng/service/routes.h"
#include "queuemng/service/service.h"

struct rig {
    char dir[64];
    struct ev *ev;
    struct mng_cfg cfg;
    struct mng_service *s;
    struct admin_ans a;
    json_t *j; /* of the last answer */
    const char *if_none_match; /* of the next requests; NULL = none */
    const char *operator_name;
};

static const char *g_metrics = "[]"; /* of the next start */
static const char *g_pools = "[]";
static const char *g_endpoints = "[]";

static inline void start(struct rig *g, const char *queues)
{
    char set[7][200];
    const char *sets[] = { set[0], set[1], set[2], set[3], set[4], set[5], set[6], "create_keys=true",
                           "listen=127.0.0.1:0", "admin=127.0.0.1:0" };
    struct err e = { 0 };

    log_set_level(LOG_ERROR);
    cr_assert_eq(keys_init(&e), 0);
    snprintf(set[0], sizeof(set[0]), "secret_file=%s/s", g->dir);
    snprintf(set[1], sizeof(set[1]), "admin_token_file=%s/t", g->dir);
    snprintf(set[2], sizeof(set[2]), "data_dir=%s/data", g->dir);
    snprintf(set[3], sizeof(set[3]), "queues=%s", queues);
    snprintf(set[4], sizeof(set[4]), "metrics=%s", g_metrics);
    snprintf(set[5], sizeof(set[5]), "pools=%s", g_pools);
    snprintf(set[6], sizeof(set[6]), "endpoints=%s", g_endpoints);
    cr_assert_eq(cfg_load(&g->cfg, sizeof(g->cfg), mng_keys, NULL, sets, ARRAY_LEN(sets), &e),
                 0, "%s", e.text);
    cr_assert_eq(ev_new(&g->ev, &e), 0);
    cr_assert_eq(mng_service_new(&g->s, g->ev, &g->cfg, &e), 0, "%s", e.text);
}

static inline void begin(struct rig *g, const char *queues)
{
    memset(g, 0, sizeof(*g));
    snprintf(g->dir, sizeof(g->dir), "/tmp/segq-admin-XXXXXX");
    cr_assert_not_null(mkdtemp(g->dir));
    start(g, queues);
}

static inline void stop(struct rig *g)
{
    mng_service_free(g->s);
    ev_free(g->ev);
    cfg_clear(&g->cfg, mng_keys);
}

static inline void end(struct rig *g)
{
    char cmd[100];

    stop(g);
    json_decref(g->j);
    buf_fini(&g->a.body);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", g->dir);
    cr_expect_eq(system(cmd), 0);
}

static inline int ask_as(struct rig *g, bool authorized, const char *method, const char *path,
                  const char *query, const char *if_match, const char *body)
{
    struct admin_req q = { .method = method, .path = path, .raw_path = path, .query = query,
                           .if_match = if_match,
                           .if_none_match = g->if_none_match != NULL ? g->if_none_match : "",
                           .token = authorized ? g->s->admin_token : "",
                           .token_len = authorized ? strlen(g->s->admin_token) : 0,
                           .operator_name = g->operator_name,
                           .from = "192.0.2.7",
                           .body = (const uint8_t *)body, .body_len = strlen(body) };

    buf_fini(&g->a.body);
    memset(&g->a, 0, sizeof(g->a));
    buf_init(&g->a.body);
    admin_api(g->s, &q, &g->a);
    json_decref(g->j);
    g->j = json_loadb((const char *)g->a.body.data, g->a.body.len, 0, NULL);
    return g->a.status;
}

static inline int ask(struct rig *g, const char *method, const char *path, const char *body)
{
    return ask_as(g, true, method, path, "", "", body);
}

static inline const char *text(const struct rig *g, const char *key)
{
    const char *s = json_string_value(json_object_get(g->j, key));

    return s != NULL ? s : "";
}

static inline const json_t *part(const struct rig *g, const char *list, size_t i)
{
    return json_array_get(json_object_get(g->j, list), i);
}

static inline const char *member(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s != NULL ? s : "";
}

#define Q "/v1/admin/queues/"
#define P "/v1/admin/pools/"
#define K "/v1/admin/task-queues/ride/7/tasks/keys/"

#endif
