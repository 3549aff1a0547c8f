/* config.c: the table of a segment node's configuration. */
#include "segment/service/config.h"

#include <string.h>

#include "common/config/cfg_check.h"

#define K(name) .key = #name, .offset = offsetof(struct seg_cfg, name)

static const char *const audit_subjects[] = { "none", "hash", "plain", NULL };
static const char *const journal_modes[] = { "off", "os", "fsync", NULL };

const struct cfg_key seg_cfg_keys[] = {
    { K(node), .type = CFG_STR, .def = "segment", .min = 1, .max = NAME_MAX_LEN,
      .help = "name of this node (letters, digits, . _ -); unique, and the same after "
              "each restart" },
    { K(listen), .type = CFG_ADDR, .def = "127.0.0.1:7200",
      .help = "address for routers and other segment nodes" },
    { K(advertise), .type = CFG_ADDR, .def = "",
      .help = "address at which they can dial this node; \"\" = listen, as bound" },
    { K(admin), .type = CFG_ADDR, .def = "127.0.0.1:7300",
      .help = "address of /metrics and /healthz, for operators" },
    CFG_MANAGERS_KEY(struct seg_cfg),
    CFG_SECRET_KEY(struct seg_cfg),
    { K(pass_key_file), .type = CFG_STR, .def = "pass.key", .min = 1, .max = 4000,
      .help = "file with the key that signs passes, the same on every segment machine" },
    { K(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "create secret_file and pass_key_file if they are missing" },
    { K(max_tickets), .type = CFG_INT, .def = "10000000", .min = 512, .max = 4000000000,
      .help = "highest number of places held at the same time, about 1.2 bytes each" },
    { K(max_segments), .type = CFG_INT, .def = "20000", .min = 1, .max = 1000000,
      .help = "highest number of segments held at the same time" },
    { K(journal), .type = CFG_ENUM, .def = "os", .words = journal_modes,
      .help = "what survives a restart: off: nothing; os: changes are written before "
              "they are answered; fsync: changes are on the disk before they are "
              "answered" },
    { K(journal_dir), .type = CFG_STR, .def = "journal", .min = 1, .max = 400,
      .help = "folder of the journals; each node uses the subfolder of its name" },
    { K(journal_snapshot), .type = CFG_BYTES, .def = "64m", .min = 512, .max = 1ll << 40,
      .help = "bytes written after which the journal becomes a new snapshot; less: "
              "shorter restarts, more writing" },
    { K(audit_dir), .type = CFG_STR, .def = "", .max = 400,
      .help = "folder of the audit trail, one file per day in the subfolder of the "
              "node's name; \"\" = no trail" },
    { K(audit_keep_days), .type = CFG_INT, .def = "30", .min = 0, .max = 36500,
      .help = "days after which a file of the trail is removed; 0 = never" },
    { K(audit_subject), .type = CFG_ENUM, .def = "hash", .words = audit_subjects,
      .help = "how the trail names people: none: not at all; hash: by a keyed hash; "
              "plain: as the join named them" },
    { K(audit_buffer), .type = CFG_BYTES, .def = "16m", .min = 256 << 10, .max = 1ll << 34,
      .help = "memory for lines that wait for a slow disk; further lines are dropped and "
              "counted" },
    { .key = "heartbeat", .offset = offsetof(struct seg_cfg, heartbeat_ms), .type = CFG_MS,
      .def = "1s", .min = 50, .max = 60000,
      .help = "interval of heartbeats on internal links; a peer silent for three of them "
              "is gone" },
    CFG_LOG_KEYS(struct seg_cfg),
    { .key = NULL },
};

int seg_cfg_check(const void *cfg, struct err *e)
{
    const struct seg_cfg *c = cfg;
    int rc = cfg_node_check(c->node, e);

    if (rc == 0)
        rc = cfg_apart_check(c->listen, c->admin, e);
    if (rc == 0)
        rc = cfg_advertise_check(c->listen, c->advertise, e);
    return rc < 0 ? rc : cfg_dials_check("managers", &c->managers, e);
}
