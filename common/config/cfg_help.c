/* cfg_help.c: a table as text for people: -h, and a sample file. Pure. */

#include "common/config/cfg_help.h"

#include <string.h>

#include "common/config/cfg_dump.h"
#include "common/config/cfg_type.h"

static void traits(struct buf *b, const struct cfg_key *k, bool hup)
{
    cfg_allowed(b, k);
    if (k->type != CFG_OBJ && k->def == NULL)
        buf_str(b, "; must be set");
    else if (k->type != CFG_OBJ && k->def[0] != 0)
        buf_printf(b, "; default %s", k->def);
    if (k->reload && hup)
        buf_str(b, "; HUP");
}

static void help_keys(struct buf *b, const struct cfg_key *keys, unsigned depth, bool hup)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++) {
        buf_printf(b, "%*s%-*s %s (", (int)(2 * depth), "", (int)(22 - 2 * depth), k->key,
                   k->help);
        traits(b, k, hup);
        buf_str(b, ")\n");
        if (k->sub != NULL)
            help_keys(b, k->sub, depth + 1, hup);
    }
}

void cfg_help(struct buf *b, const struct cfg_key *keys)
{
    help_keys(b, keys, 1, true);
}

void cfg_help_keys(struct buf *b, const struct cfg_key *keys)
{
    help_keys(b, keys, 1, false);
}
