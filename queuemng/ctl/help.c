/* help.c: what commands there are, for those who ask, or typed one that is none. */
#include "queuemng/ctl/help.h"

#include <stdio.h>
#include <string.h>

#include "common/config/near.h"
#include "queuemng/ctl/commands.h"

/* The command that is written almost so; NULL. */
static const char *nearest(const char *typed)
{
    struct near near = near_to(typed);

    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        near_try(&near, d->words);
    return near.name;
}

/* " without list, show, ...": of a first word that needs a second one. */
static void put_second_words(struct buf *b, const char *first)
{
    const char *before = " without ";
    size_t n = strlen(first);

    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        if (strncmp(d->words, first, n) == 0 && d->words[n] == ' ') {
            buf_printf(b, "%s%s", before, d->words + n + 1);
            before = ", ";
        }
}

int cmd_unknown(int argc, char **argv)
{
    char one[40], two[80];
    const char *near, *typed = one;
    struct buf b;

    buf_init(&b);
    put_second_words(&b, argv[0]);
    snprintf(one, sizeof(one), "%s", argv[0]);
    snprintf(two, sizeof(two), "%s %s", one, argc > 1 ? argv[1] : "");
    near = b.len == 0 ? nearest(one) : NULL;
    if (near == NULL && argc > 1)
        near = nearest(two);
    if (argc > 1 && (b.len > 0 || (near != NULL && strchr(near, ' ') != NULL)))
        typed = two;
    if (near != NULL) {
        buf_reset(&b);
        buf_printf(&b, "; did you mean '%s'?", near);
    } else {
        buf_byte(&b, ';');
    }
    buf_byte(&b, 0);
    fprintf(stderr, "segqctl: no command '%s'%s segqctl -h lists them\n", typed,
            b.failed ? ";" : (const char *)b.data);
    buf_fini(&b);
    return CTL_USAGE;
}

static void put_help(struct buf *b, const struct cmd *d)
{
    char left[80];

    snprintf(left, sizeof(left), "%s %s", d->words, d->takes);
    buf_printf(b, "  %-38s %s\n", left, d->help);
}

/* Those that begin with these words. */
int cmd_help_of(int argc, char **argv)
{
    struct buf b;

    buf_init(&b);
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        const char *second = strchr(d->words, ' ');
        size_t n = second != NULL ? (size_t)(second - d->words) : strlen(d->words);

        if (strlen(argv[0]) == n && memcmp(d->words, argv[0], n) == 0 &&
            (argc < 2 || second == NULL || strcmp(second + 1, argv[1]) == 0))
            put_help(&b, d);
    }
    if (b.len == 0) {
        buf_fini(&b);
        return cmd_unknown(argc, argv);
    }
    buf_str(&b, "segqctl -h lists all commands, and the options\n");
    ctl_put_out(&b);
    buf_fini(&b);
    return CTL_OK;
}

void cmd_help(struct buf *b)
{
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        put_help(b, d);
}
