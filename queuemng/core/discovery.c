/* discovery.c: see the header. */
#include "queuemng/core/discovery.h"

#include <string.h>

#include "common/base/log.h"
#include "queuemng/core/mng.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/targets.h"

#define LOG_MODULE  "tasks"
#define ASKED_MS    60000 /* a question is over by then, whatever has become of it */

void mng_each_name_due(struct mng *m, msec_t now_ms, mng_ask_fn ask, void *ctx)
{
    each_endpoint(m, x)
        each_name(x, n) {
            if (now_ms < n->d.due || (n->asked != 0 && now_ms - n->asked < ASKED_MS))
                continue;
            n->asked = now_ms;
            ask(ctx, x->def.name, n->url);
        }
}

static void say(const struct mendpoint *x, struct mname *n, msec_t now)
{
    const char *url = log_q(n->url, strlen(n->url));
    bool failing = n->d.why[0] != 0;

    if (failing && n->failing == 0)
        log_warn("event=discovery_failing endpoint=%s url=%s addresses=%u why=%s do=\"look at the name, and at the "
                 "name servers of this machine: addresses that were known stay targets\"", x->def.name, url, n->d.n,
                 log_q(n->d.why, strlen(n->d.why)));
    else if (!failing && n->failing != 0)
        log_info("event=discovery_well endpoint=%s url=%s addresses=%u", x->def.name, url, n->d.n);
    n->failing = !failing ? 0 : n->failing != 0 ? n->failing : now;
}

static int hear(struct mng *m, struct mendpoint *x, struct mname *n, const struct name_answer *a)
{
    struct discovery_rules r = endpoint_discovery_rules(&x->def);
    bool other = discovered_hear(&n->d, a, &r, m->now_ms);
    int rc;

    n->asked = 0;
    m->count.name_failures += n->d.why[0] != 0;
    say(x, n, m->now_ms);
    if (!other && targets_of_name(x, n->url) == n->d.n)
        return 0;
    rc = targets_discover(m, x, n);
    if (other)
        log_info("event=targets_discovered endpoint=%s url=%s addresses=%u targets=%u left_out=%u", x->def.name,
                 log_q(n->url, strlen(n->url)), n->d.n, targets_of_name(x, n->url), n->d.left_out);
    return rc;
}

void mng_name_told(struct mng *m, msec_t now_ms, const char *endpoint, const char *url, const struct name_answer *a,
                   struct mng_out *out)
{
    struct mendpoint *x = defined_find(m, DEF_ENDPOINT, endpoint);
    struct mname *n = x != NULL ? name_at(x, url) : NULL;

    mng_begin(m, now_ms, out);
    if (n != NULL && hear(m, x, n, a) < 0)
        m->out->box.failed = true;
    mng_end(m);
}
