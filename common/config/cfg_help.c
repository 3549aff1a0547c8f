/* cfg_help.c: a table as text for people. Pure. */
#include "common/config/cfg_help.h"

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

static void help_keys(struct buf *b, const struct cfg_key *keys, int depth, bool hup)
{
    cfg_each_key(k, keys) {
        buf_printf(b, "%*s%-*s %s (", 2 * depth, "", 22 - 2 * depth, k->key, k->help);
        traits(b, k, hup);
        buf_str(b, ")\n");
        if (k->sub != NULL)
            help_keys(b, k->sub, depth + 1, hup);
    }
}

void cfg_help(struct buf *b, const struct cfg_key *keys, bool hup)
{
    help_keys(b, keys, 1, hup);
}

/* ---- a manual page ---- */

/* Hyphens are those that are typed. */
void man_text(struct buf *b, const char *text)
{
    if (*text == '.' || *text == '\'')
        buf_str(b, "\\&");
    for (; *text != '\0'; text++) {
        char c = *text;
        const char *as = c == '\\' ? "\\e" : c == '-' ? "\\-" : c == '\'' ? "\\(aq"
                         : c == '`' ? "\\(ga" : c == '~' ? "\\(ti" : c == '^' ? "\\(ha" : NULL;

        if (as != NULL)
            buf_str(b, as);
        else
            buf_byte(b, (uint8_t)c);
    }
}

void man_entry(struct buf *b, const char *bold, const char *italic, const char *text)
{
    buf_str(b, ".TP\n\\fB");
    man_text(b, bold);
    buf_str(b, "\\fR");
    if (italic != NULL && *italic != '\0') {
        buf_str(b, " \\fI");
        man_text(b, italic);
        buf_str(b, "\\fR");
    }
    buf_byte(b, '\n');
    man_text(b, text);
    buf_byte(b, '\n');
}

void man_keys(struct buf *b, const struct cfg_key *keys)
{
    cfg_each_key(k, keys) {
        struct buf about;

        buf_init(&about);
        buf_printf(&about, "%s (", k->help);
        traits(&about, k, true);
        buf_str(&about, ")");
        buf_byte(&about, '\0');
        b->failed |= about.failed;
        if (!about.failed)
            man_entry(b, k->key, NULL, (const char *)about.data);
        buf_fini(&about);
        if (k->sub == NULL)
            continue;
        buf_str(b, ".RS\n");
        man_keys(b, k->sub);
        buf_str(b, ".RE\n");
    }
}
