/* words.h: words of the line as numbers and as JSON. Pure. */
#ifndef SEGQ_CTL_WORDS_H
#define SEGQ_CTL_WORDS_H

#include <jansson.h>

#include "common/base/err.h"
#include "common/config/cfg.h"

/* KEY=VALUE words into one JSON object, dotted keys into nested ones: idle.game=3s is
 * {"idle":{"game":"3s"}}. Numbers, true, false, "..", [..] and {..} are taken as JSON,
 * everything else is a string; so is what stands for a key of `keys` that is a text
 * (message=2027). NULL and a sentence if a word is no KEY=VALUE, repeats a key, or opens a
 * bracket and is not JSON. New reference. */
json_t *ctl_pairs(char *const *words, size_t n, const struct cfg_key *keys, struct err *e);

/* "50:2000" "70:500": while below 50 at most 2000 a second ... as the JSON of tiers. NULL and
 * a sentence if a word is something else, or there is none. New reference. */
json_t *ctl_tiers(char *const *words, size_t n, struct err *e);
bool ctl_number(const char *s, double *out); /* 0 or more, nothing behind it */

#endif
