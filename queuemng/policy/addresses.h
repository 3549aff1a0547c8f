/* addresses.h: addresses that operators give: urls and networks; and the addresses of a name that is asked for
 * again and again: which of them count now, and when it is asked for next. Pure.
 *
 * Addresses of version 4 and 6 are two answers. One that has addresses replaces what was known of its kind, so what
 * is not in it has gone; one that has none does so only if the other has some. A server that is silent, fails, or
 * knows no address at all changes nothing: what was known counts on, and `why` says so. More than the bound are
 * left out: those that are known stay, then the first by their text; so order, repetition and who asks make no
 * difference. It is asked for again when the least of the TTLs is over, within bounds; after a failure at the
 * lower one. */
#ifndef SEGQ_MNG_POLICY_ADDRESSES_H
#define SEGQ_MNG_POLICY_ADDRESSES_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/config/cfg.h"

#define DISCOVER_MOST 32 /* addresses of a version in an answer; bound of those that count */
#define DISCOVER_ALL  (2 * DISCOVER_MOST)
#define DISCOVER_TEXT 46 /* bytes of one as text, with a 0 */

enum discover { DISCOVER_NONE, DISCOVER_DNS };

enum name_how { NAME_FOUND, NAME_NONE, NAME_FAILED };

struct name_part { /* addresses of one version */
    uint8_t how;   /* enum name_how */
    uint32_t ttl_s;
    unsigned n;
    char address[DISCOVER_MOST][DISCOVER_TEXT];
    char why[80]; /* NONE, FAILED: reason */
};

struct name_answer {
    struct name_part v4, v6;
};

struct discovery_rules {
    msec_t least, most; /* between two questions */
    unsigned addresses;
};

struct discovered { /* zero: nothing is known, and it is asked for at once */
    unsigned n;
    char address[DISCOVER_ALL][DISCOVER_TEXT]; /* in the order of their texts */
    unsigned left_out; /* addresses beyond the bound */
    msec_t due;        /* next question; */
    msec_t heard;      /* last answer with an address; 0: none yet */
    char why[80];      /* the last one had none, or not all: why; "": it did */
};

bool discovered_has(const struct discovered *d, const char *address);
/* False: there is no room. */
bool discovered_add(struct discovered *d, const char *address);
/* True: other addresses count than before. */
bool discovered_hear(struct discovered *d, const struct name_answer *a, const struct discovery_rules *r,
                     msec_t now);

/* Checks a url of an endpoint, a target, a proxy or a service. NULL, or what is wrong. */
const char *endpoint_url_wrong(const char *url, bool with_path);
/* l: char *, networks. 0, or SQ_EINVAL with a sentence: key.3: ... */
SQ_CHECK int networks_check(const struct cfg_list *l, const char *key, struct err *e);

#endif
