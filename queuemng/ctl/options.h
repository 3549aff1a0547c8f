/* options.h: the line that was typed: the options of segqctl in one table, and words as numbers
 * and as JSON. */
#ifndef SEGQ_CTL_OPTIONS_H
#define SEGQ_CTL_OPTIONS_H

#include "common/base/buf.h"
#include "common/config/cfg.h"
#include "queuemng/ctl_ask/round_trip.h"

enum option_kind {
    OPTION_TEXT,   /* const char * */
    OPTION_FLAG,   /* bool */
    OPTION_NUMBER, /* unsigned, 1 to max, of that unit */
    OPTION_WORD,   /* an enum of these words, which have blanks between them */
    OPTION_JSON,   /* the form json */
    OPTION_URL     /* another address of struct urls */
};

struct ctl_option {
    const char *name;         /* behind -- */
    char letter;              /* 0: none */
    const char *takes, *help; /* takes NULL: no value */
    enum option_kind kind;
    size_t at;                /* in struct ctl */
    bool few;                 /* few commands take it: it is in their `options` */
    unsigned max;
    const char *of;           /* the unit, or the words */
};

extern const struct ctl_option ctl_options[]; /* ended by name == NULL */

/* Options of the line into c; they are permuted before the words, of which *words is the first.
 * CTL_USAGE: the error has been printed. */
int options_read(struct ctl *c, int argc, char **argv, int *words);
/* The first option of c that this command (options: of struct cmd) does not take; or NULL. */
const char *options_refused(const struct ctl *c, const char *list);
/* Prints what options are for, a line each: of those in this list; NULL: of all. */
void options_help(struct buf *b, const char *list);

/* KEY=VALUE words into one JSON object, dotted keys into nested ones: idle.game=3s is
 * {"idle":{"game":"3s"}}. Numbers, true, false, "..", [..] and {..} are taken as JSON,
 * everything else is a string; so is what stands for a key of `keys` that is a text
 * (message=2027). NULL and a sentence if a word is no KEY=VALUE, repeats a key, or opens a
 * bracket and is not JSON. Words end with NULL. New reference. */
json_t *ctl_pairs(char *const *words, const struct cfg_key *keys, struct err *e);

/* "50:2000" "70:500": while below 50 at most 2000 a second ... as the JSON of tiers. NULL and
 * a sentence if a word is something else, or there is none. New reference. */
json_t *ctl_tiers(char *const *words, struct err *e);
bool ctl_number(const char *s, double *out); /* 0 or more, nothing behind it */

#endif
