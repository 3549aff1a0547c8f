/* config.c: the table of a task node's configuration. */
#include "task/service/config.h"

#include <string.h>

#include "common/config/cfg_check.h"

#define K(name) .key = #name, .offset = offsetof(struct task_cfg, name)

static const char *const journal_modes[] = { "off", "os", "fsync", NULL };

const struct cfg_key task_cfg_keys[] = {
    { K(node), .type = CFG_STR, .def = "task", .min = 1, .max = NAME_MAX_LEN,
      .help = "name of this node (letters, digits, . _ -); unique, and the same after "
              "each restart" },
    { K(listen), .type = CFG_ADDR, .def = "127.0.0.1:7400",
      .help = "address for routers" },
    { K(advertise), .type = CFG_ADDR, .def = "",
      .help = "address at which they can dial this node; \"\" = listen, as bound" },
    { K(admin), .type = CFG_ADDR, .def = "127.0.0.1:7500",
      .help = "address of /metrics and /healthz, for operators" },
    CFG_MANAGERS_KEY(struct task_cfg),
    CFG_SECRET_KEY(struct task_cfg),
    { K(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "create secret_file if it is missing" },
    { K(max_tasks), .type = CFG_INT, .def = "10000000", .min = 1, .max = 4000000000,
      .help = "highest number of tasks held at the same time, in any state; about 110 "
              "bytes each, beside their bodies on the disk" },
    { K(max_keys), .type = CFG_INT, .def = "1000000", .min = 16, .max = 16000000,
      .help = "highest number of queues and keys of a partition at the same time" },
    { K(journal), .type = CFG_ENUM, .def = "os", .words = journal_modes,
      .help = "what survives a restart: off: nothing; os: tasks are written before they "
              "are answered; fsync: tasks are on the disk before they are answered" },
    { K(journal_dir), .type = CFG_STR, .def = "journal", .min = 1, .max = 400,
      .help = "folder of the journals; each node uses the subfolder of its name" },
    { K(bodies_dir), .type = CFG_STR, .def = "bodies", .min = 1, .max = 400,
      .help = "folder of the tasks' bodies and results; each node uses the subfolder of its "
              "name" },
    { K(journal_snapshot), .type = CFG_BYTES, .def = "64m", .min = 512, .max = 1ll << 40,
      .help = "bytes written after which the journal becomes a new snapshot; less: "
              "shorter restarts, more writing" },
    { .key = "heartbeat", .offset = offsetof(struct task_cfg, heartbeat_ms), .type = CFG_MS,
      .def = "1s", .min = 50, .max = 60000,
      .help = "interval of heartbeats on internal links; a peer silent for three of them "
              "is gone" },
    CFG_LOG_KEYS(struct task_cfg),
    { .key = NULL },
};

int task_cfg_check(const void *cfg, struct err *e)
{
    const struct task_cfg *c = cfg;
    int rc = cfg_node_check(c->node, e);

    if (rc == 0)
        rc = cfg_apart_check(c->listen, c->admin, e);
    if (rc == 0)
        rc = cfg_advertise_check(c->listen, c->advertise, e);
    return rc < 0 ? rc : cfg_dials_check("managers", &c->managers, e);
}
