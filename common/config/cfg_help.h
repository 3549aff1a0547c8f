/* cfg_help.h: a table of keys as text for people: for -h, and for a manual page. Pure. */
#ifndef SEGQ_CFG_HELP_H
#define SEGQ_CFG_HELP_H

#include "common/base/buf.h"
#include "common/config/cfg_key.h"

/* For -h. hup: also what SIGHUP may change; false for keys that no process has in its file. */
void cfg_help(struct buf *b, const struct cfg_key *keys, bool hup);

/* For a manual page, in roff. An entry: `bold italic`, and below it the text; italic may be NULL.
 * Texts are plain ones: what roff would take for its own is escaped. */
void man_text(struct buf *b, const char *text);
void man_entry(struct buf *b, const char *bold, const char *italic, const char *text);
void man_keys(struct buf *b, const struct cfg_key *keys); /* an entry each; those of a map within it */

#endif
