/* main.c: the segment process. */
#include "common/node/node.h"
#include "common/supervisor/program.h"
#include "segment/service/journal.h"
#include "segment/service/service.h"

static struct seg_cfg cfg;
static struct cluster_keys secret;
static struct pass_key pass;
static struct seg_service *service;

static int start(struct ev *ev, struct err *e)
{
    struct seg_service_opts o = { .cfg = &cfg, .pass = &pass };
    int rc = node_start(&o.node, &secret, &cfg.node, ev, e);

    if (rc == 0)
        rc = keys_pass(&pass, cfg.pass_key_file, cfg.node.create_keys, e);
    return rc < 0 ? rc : seg_service_new(&service, ev, &o, e);
}

static void stop(void)
{
    seg_service_stop(service);
}

static void reload(void)
{
    seg_service_reload(service, &cfg);
}

static void end(void)
{
    seg_service_free(service);
    keys_wipe(&secret, sizeof(secret));
    keys_wipe(&pass, sizeof(pass));
}

int main(int argc, char **argv)
{
    static struct program p = {
        .prog = { .name = "segment",
                  .what = "holds segments of queues and the tickets in them "
                          "(segment --check-journal DIR: reads and explains a journal)",
                  .keys = seg_cfg_keys,
                  .size = sizeof(struct seg_cfg),
                  .check = node_cfg_check,
                  .try = node_cfg_try },
        .cfg = &cfg,
        .log_level = &cfg.node.log_level,
        .log_file = &cfg.node.log_file,
        .start = start,
        .stop = stop,
        .reload = reload,
        .end = end,
        .check_journal = seg_journal_check,
    };

    return program_main(&p, argc, argv);
}
