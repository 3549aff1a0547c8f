/* loads.h: what processes say of themselves: processor, memory, how soon they answer. For operators to
 * look at; the core knows nothing of it. Pure. */
#ifndef SEGQ_MNG_LOADS_H
#define SEGQ_MNG_LOADS_H

#include "common/base/map.h"
#include "common/wire/msg.h"
#include "common/wire/role.h"

#define LOAD_STALE_MS 10000 /* older ones are not shown */

struct load_seen {
    enum rpc_role role;
    char name[NAME_MAX_LEN + 1];
    char version[LOAD_VERSION_MAX + 1];
    msec_t at_ms;
    struct msg_load load; /* `version` of it is the one above */
};

struct loads {
    struct map by_name; /* hash of role and name -> struct load_seen (owned) */
};

void loads_init(struct loads *l);
void loads_fini(struct loads *l);
/* Without memory it is not noted. */
void loads_note(struct loads *l, enum rpc_role role, const char *name, msec_t now_ms,
                const struct msg_load *m);
/* NULL: it has said nothing lately. */
const struct load_seen *loads_of(const struct loads *l, enum rpc_role role, const char *name,
                                 msec_t now_ms);
/* Drops stale ones. */
void loads_tidy(struct loads *l, msec_t now_ms);

#endif
