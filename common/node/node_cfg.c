/* node_cfg.c: see node_cfg.h. */
#include "common/node/node_cfg.h"

const char *const node_journal_modes[] = { "off", "os", "fsync", NULL };

int node_cfg_check(const void *cfg, struct err *e)
{
    const struct node_cfg *c = cfg;
    int rc = cfg_node_check(c->node, e);

    if (rc == 0)
        rc = cfg_apart_check("admin", c->admin, "listen", c->listen, e);
    if (rc == 0)
        rc = cfg_advertise_check(c->listen, c->advertise, e);
    return rc < 0 ? rc : cfg_dials_check("managers", &c->managers, e);
}
