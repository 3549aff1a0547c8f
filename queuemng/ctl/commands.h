/* commands.h: a command: words, arguments, the request, the view of its answer. */
#ifndef SEGQ_CTL_COMMANDS_H
#define SEGQ_CTL_COMMANDS_H

#include "queuemng/ctl_ask/ctl.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/risk_view.h"

struct cmd {
    const char *words, *takes; /* words as typed; arguments, for the help */
    int min, max;              /* how many arguments behind the words; max -1: any */
    const char *help;
    int (*run)(struct ctl *c, int argc, char **argv); /* NULL: it sends the request below */
    const char *method, *path; /* the `*` in it: the first argument; of two: queue and key */
    view_fn view;
    const struct cfg_key *keys; /* behind the name come KEY=VALUE of this table; else NULL */
    const char *options;       /* options that few commands take; NULL: none of them */
    enum risk risk;            /* if it has one, the operator confirms it first */
    const char *sure;          /* a sentence that the operator confirms first; or NULL */
    bool text_only;            /* text in any case: -o is refused */
    const char *undo;          /* the answer to: what takes it back, for those who wait, too? "none..": nothing
                                  does, so it asks first, or is about one of them or a number that
                                  was typed; "": it changes nothing; NULL is a mistake */
    const char *kind;          /* word of def_change.h: a delete of a definition; or the answer is one, of
                                * which what has changed is shown, and what would with --dry-run; or NULL */
};

extern const struct cmd ctl_cmds[]; /* ended by words == NULL */

/* By the first word, or the first two; NULL: there is none. */
const struct cmd *cmd_find(int argc, char **argv);
int cmd_unknown(int argc, char **argv); /* says it, and what may be meant: CTL_USAGE */
/* argv[0] is the command's first word. enum ctl_exit. */
int cmd_run(struct ctl *c, int argc, char **argv);

#endif
