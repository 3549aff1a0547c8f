/* seg_cfg.c: the table of a segment node's configuration. */
#include "segment/service/seg_cfg.h"

#include <string.h>

#include "common/config/cfg_common.h"

#define K(name) .key = #name, .offset = offsetof(struct seg_cfg, name)

static const char *const audit_subjects[] = { "none", "hash", "plain", NULL };
static const char *const journal_modes[] = { "off", "os", "fsync", NULL };

const struct cfg_key seg_cfg_keys[] = {
    { K(node), .type = CFG_STR, .def = "segment", .min = 1, .max = NAME_MAX_LEN,
      .help = "name of this node (letters, digits, . _ -); each one has its own, and keeps it" },
    { K(listen), .type = CFG_ADDR, .def = "127.0.0.1:7200",
      .help = "routers and other segment nodes come here" },
    { K(advertise), .type = CFG_ADDR, .def = "",
      .help = "address told to them; \"\" = listen, as bound" },
    { K(admin), .type = CFG_ADDR, .def = "127.0.0.1:7300",
      .help = "/metrics and /healthz for operators" },
    CFG_MANAGERS_KEY(struct seg_cfg),
    CFG_SECRET_KEY(struct seg_cfg),
    { K(pass_key_file), .type = CFG_STR, .def = "pass.key", .min = 1, .max = 4000,
      .help = "key that signs passes, the same on every segment machine" },
    { K(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "make the two files above if they are missing" },
    { K(max_tickets), .type = CFG_INT, .def = "10000000", .min = 512, .max = 4000000000,
      .help = "places held at the same time; about 1.2 bytes each" },
    { K(max_segments), .type = CFG_INT, .def = "20000", .min = 1, .max = 1000000,
      .help = "segments held at the same time" },
    { K(journal), .type = CFG_ENUM, .def = "os", .words = journal_modes,
      .help = "what is kept for a restart: nothing; written before it is answered; "
              "on the disk before" },
    { K(journal_dir), .type = CFG_STR, .def = "journal", .min = 1, .max = 400,
      .help = "folder of the journals; each node has its own in it, by its name" },
    { K(journal_snapshot), .type = CFG_BYTES, .def = "64m", .min = 512, .max = 1ll << 40,
      .help = "changes after which it is written anew as a snapshot; less: a shorter "
              "restart, more to write" },
    { K(audit_dir), .type = CFG_STR, .def = "", .max = 400,
      .help = "folder of the audit trail: a file per day, each node its own folder in it; "
              "empty: none" },
    { K(audit_keep_days), .type = CFG_INT, .def = "30", .min = 0, .max = 36500,
      .help = "files of older days are removed; 0: never" },
    { K(audit_subject), .type = CFG_ENUM, .def = "hash", .words = audit_subjects,
      .help = "how the trail names people: not; by a keyed hash; as they were told to us" },
    { K(audit_buffer), .type = CFG_BYTES, .def = "16m", .min = 256 << 10, .max = 1ll << 34,
      .help = "lines that wait for a slow disk; what is more is left out and counted" },
    { .key = "heartbeat", .offset = offsetof(struct seg_cfg, heartbeat_ms), .type = CFG_MS,
      .def = "1s", .min = 50, .max = 60000,
      .help = "on internal links; silent for three of them = gone" },
    CFG_LOG_KEYS(struct seg_cfg),
    { .key = NULL },
};

int seg_cfg_check(const void *cfg, struct err *e)
{
    const struct seg_cfg *c = cfg;
    int rc = cfg_node_check(c->node, e);

    if (rc == 0)
        rc = cfg_apart_check(c->listen, c->admin, e);
    if (rc == 0 && c->advertise[0] != 0)
        rc = cfg_dial_check("advertise", c->advertise, e);
    else if (rc == 0 && cfg_addr_any(c->listen))
        rc = err_set(e, SQ_EINVAL, "advertise: others cannot dial \"%s\", say how they can",
                     c->listen);
    if (rc == 0 && (strlen(c->advertise) > 63 || strlen(c->listen) > 63))
        rc = err_set(e, SQ_EINVAL, "listen, advertise: at most 63 characters");
    return rc < 0 ? rc : cfg_dials_check("managers", &c->managers, e);
}
