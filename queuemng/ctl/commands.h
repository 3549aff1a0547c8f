/* commands.h: the commands in one table: words, arguments, the request, the view of its answer.
 * Most are nothing but their row: cmd_request() makes the request of it (path, query or body,
 * confirmation). */
#ifndef SEGQ_CTL_COMMANDS_H
#define SEGQ_CTL_COMMANDS_H

#include <string.h>

#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/policy/def_kind.h"

/* A member of the request, made of the words behind the names in the path, one after the other,
 * or of options. */
struct cmd_param {
    const char *name;
    enum {
        PARAM_TEXT,   /* the next word; without it: none */
        PARAM_WORDS,  /* all words from here on, with blanks between them */
        PARAM_COUNT,  /* the next word, an integer */
        PARAM_PEOPLE, /* people who are let in at once: of a large number the operator is asked */
        PARAM_RATE,   /* a number per second, not 0; `limits` is 0 */
        PARAM_NUMBER, /* a number, as it was typed */
        PARAM_TRUE,
        PARAM_FALSE,
        PARAM_OPTION, /* option with a text; not given: none */
        PARAM_FLAG,   /* option that is true */
        PARAM_PAGE    /* how many of a list are asked for at once */
    } kind;
    const char *word; /* in place of an argument that was not typed; NULL: none */
    size_t option;    /* in struct ctl */
};

struct cmd {
    const char *words, *takes; /* words as typed; arguments, for the help */
    int min, max;              /* how many arguments behind the words; max -1: any */
    const char *help;
    int (*run)(struct ctl *c, char **argv); /* NULL behind them; NULL: cmd_request() */
    const char *method;
    /* `*`: the first argument; of two: queue and key. With a ? the params are its query, else the
     * body. NULL: that of the kind. */
    const char *path;
    view_fn view;
    /* The request changes a definition: it says what has changed, or with --dry-run would; or
     * NULL. */
    const struct def_kind *kind;
    const struct cfg_key *keys; /* KEY=VALUE behind the name; NULL: those of the kind */
    const struct cmd_param *params; /* ended by name == NULL; or NULL */
    enum { ONE_PAGE, PAGES_IF_ALL, ALL_PAGES } pages; /* an answer with `next` goes on there */
    const char *options;       /* options that few commands take; NULL: none of them */
    enum risk risk;            /* if it has one, the operator confirms it first */
    const char *sure;          /* a sentence about the params that is confirmed first; or NULL */
    bool text_only;            /* text in any case: -o is refused */
    /* Answers: what takes it back, for those who wait, too? "none..": nothing does, so it asks
     * first, or is about one of them or a number that was typed; "": it changes nothing; NULL is a
     * mistake. */
    const char *undo;
};

extern const struct cmd ctl_cmds[]; /* ended by words == NULL */

/* The table of the KEY=VALUE behind its names; NULL: it takes none. */
static inline const struct cfg_key *cmd_keys(const struct cmd *d)
{
    return d->keys != NULL || d->kind == NULL || strchr(d->takes, '=') == NULL ? d->keys
        : d->kind->keys;
}

/* By the first word, or the first two; NULL: there is none. */
const struct cmd *cmd_find(char **argv);
bool cmd_is_first(const struct cmd *d, const char *word); /* is it the first word? */
const char *cmd_second(const struct cmd *d);              /* the second word; NULL: it has one */
int cmd_unknown(char **argv); /* says it, and what may be meant: CTL_USAGE */
/* argv[0] is the command's first word. enum ctl_exit. */
int cmd_run(struct ctl *c, char **argv);

#endif
