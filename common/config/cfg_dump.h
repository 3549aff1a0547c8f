/* cfg_dump.h: a struct that a table fills, as YAML or JSON; the table as text for people. Pure. */
#ifndef SEGQ_CFG_DUMP_H
#define SEGQ_CFG_DUMP_H

#include "common/base/buf.h"
#include "common/config/cfg_key.h"

/* The text reads back as an equal struct. */
void cfg_dump_yaml(struct buf *b, const void *src, const struct cfg_key *keys);
void cfg_dump_json(struct buf *b, const void *src, const struct cfg_key *keys);

/* For -h. hup: also what SIGHUP may change; false for keys that no process has in its file. */
void cfg_help(struct buf *b, const struct cfg_key *keys, bool hup);

/* For a manual page, in roff. An entry: `bold italic`, and below it the text; italic may be NULL.
 * Texts are plain ones: what roff would take for its own is escaped. */
void man_text(struct buf *b, const char *text);
void man_entry(struct buf *b, const char *bold, const char *italic, const char *text);
void man_keys(struct buf *b, const struct cfg_key *keys); /* an entry each; those of a map within it */

#endif
