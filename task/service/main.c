/* main.c: the task process. */
#include "common/node/node.h"
#include "common/redis/redis_script.h"
#include "common/supervisor/program.h"
#include "task/service/journal.h"
#include "task/service/service.h"

static struct task_cfg cfg;
static struct cluster_keys secret;
static struct task_service *service;

static int start(struct ev *ev, struct err *e)
{
    struct task_service_opts o = { .cfg = &cfg };
    int rc = node_start(&o.node, &secret, &cfg.node, ev, e);

    return rc < 0 ? rc : task_service_new(&service, ev, &o, e);
}

static void stop(void)
{
    task_service_stop(service);
}

static int try(const void *c, struct err *e)
{
    int rc = node_cfg_try(c, e);

    return rc < 0 ? rc : redis_tls_try(&((const struct task_cfg *)c)->redis, e);
}

static void reload(void)
{
    task_service_reload(service, &cfg);
}

static void end(void)
{
    task_service_free(service);
    keys_wipe(&secret, sizeof(secret));
}

int main(int argc, char **argv)
{
    static struct program p = {
        .prog = { .name = "task",
                  .what = "holds tasks that wait for workers "
                          "(task --check-journal DIR: reads and explains a journal)",
                  .keys = task_cfg_keys,
                  .size = sizeof(struct task_cfg),
                  .check = task_cfg_check,
                  .try = try },
        .cfg = &cfg,
        .log_level = &cfg.node.log_level,
        .log_file = &cfg.node.log_file,
        .start = start,
        .stop = stop,
        .reload = reload,
        .end = end,
        .check_journal = task_journal_check,
    };

    return program_main(&p, argc, argv);
}
