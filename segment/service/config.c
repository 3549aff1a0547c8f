/* config.c: the table of a segment node's configuration. */
#include "segment/service/config.h"

#define K(name) .key = #name, .offset = offsetof(struct seg_cfg, name)

static const char *const audit_subjects[] = { "none", "hash", "plain", NULL };

const struct cfg_key seg_cfg_keys[] = {
    NODE_KEYS("segment", "7200", "7300", "routers and other segment nodes"),
    { K(pass_key_file), .type = CFG_STR, .def = "pass.key", .min = 1, .max = 4000,
      .help = "file with the key that signs passes, the same on every segment machine" },
    { NODE_KEY(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "create secret_file and pass_key_file if they are missing" },
    { K(max_tickets), .type = CFG_INT, .def = "10000000", .min = 512, .max = 4000000000,
      .help = "highest number of places held at the same time, about 1.2 bytes each" },
    { K(max_segments), .type = CFG_INT, .def = "20000", .min = 1, .max = 1000000,
      .help = "highest number of segments held at the same time" },
    NODE_JOURNAL_KEYS("changes"),
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
    NODE_LAST_KEYS,
};
