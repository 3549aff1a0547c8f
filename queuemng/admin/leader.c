/* leader.c: several managers: which one leads, and where a standby sends requests. */
#include "queuemng/admin/leader.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Tells the role of this manager; each answers for itself. */
void admin_manager(struct admin_call *c)
{
    const struct mng_service *s = c->s;
    struct mng_lead_view v = { .leads = s->leads, .lease_age_ms = -1, .leader = "",
                               .leader_admin = "" };
    struct mng_counts n;
    char self[80];

    if (s->lead != NULL)
        mng_lead_look(s->lead, &v);
    mng_count(s->mng, &n);
    snprintf(self, sizeof(self), "http://%s", v.leader_admin);
    admin_json(c->a, 200,
               json_pack("{s:s,s:s,s:I,s:s,s:s*,s:o,s:o,s:o}", "node", s->cfg->node, "role",
                         s->leads ? "leader" : "standby", "epoch",
                         (json_int_t)(s->lead != NULL ? v.epoch : n.epoch), "store",
                         s->lead != NULL ? "redis" : "file", "redis", v.redis,
                         "store_reachable",
                         json_boolean(s->lead != NULL ? v.reachable : s->store_ok),
                         "lease_age_ms",
                         v.lease_age_ms >= 0 ? json_integer(v.lease_age_ms) : json_null(),
                         "leader",
                         v.leader_admin[0] == 0 ? json_null()
                                                : json_pack("{s:s,s:s}", "node", v.leader,
                                                            "admin", self)));
}

/* To the leader: a question by 307; an order by 409 with the address, so that the operator
 * decides where it is given. */
void admin_elsewhere(struct admin_call *c)
{
    struct mng_lead_view v;
    bool get = strcmp(c->q->method, "GET") == 0;
    char url[80];

    assert(c->s->lead != NULL); /* without others, this one leads */
    mng_lead_look(c->s->lead, &v);
    if (v.leader_admin[0] == 0) {
        admin_problem(c->a, 503, "not_leader", "no manager leads at present");
        return;
    }
    snprintf(url, sizeof(url), "http://%s", v.leader_admin);
    admin_json(c->a, get ? 307 : 409,
               json_pack("{s:s,s:i,s:s,s:s,s:s,s:s}", "title",
                         get ? "Temporary Redirect" : "Conflict", "status", get ? 307 : 409,
                         "code", "not_leader", "detail", "another manager leads", "leader",
                         url, "request_id", c->a->request_id));
    c->a->content_type = "application/problem+json";
    snprintf(c->a->location_buf, sizeof(c->a->location_buf), "%s%s%s%s", url, c->q->raw_path,
             c->q->query[0] != 0 ? "?" : "", c->q->query);
    if (get)
        c->a->location = c->a->location_buf;
}
