/* directory.c: the members of the directory of subjects. */
#include "queuemng/nodes/directory.h"

#include <assert.h>
#include <jansson.h>

#include "common/base/log.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "directory"

static void put(struct mng *m)
{
    json_t *v = json_array();

    each_node(m, n)
        if (n->member)
            json_array_append_new(v, json_integer(n->no));
    out_put_json(m, "directory", json_pack("{s:I,s:o}", "version",
                                           (json_int_t)m->members_version, "members", v));
}

/* Members have registered: else they would be none. */
int directory_load(struct mng *m, json_t *j)
{
    json_int_t version;
    json_t *v, *no;
    size_t i;

    if (json_unpack(j, "{s:I,s:o}", "version", &version, "members", &v) < 0 || version <= 0)
        return SQ_EPROTO;
    m->members_version = (uint64_t)version;
    json_array_foreach(v, i, no) {
        json_int_t n = json_integer_value(no);
        struct mnode *x = n > 0 && n <= MNG_NODE_NO_MAX ? node_at(m, (node_no)n) : NULL;

        if (x == NULL)
            return n > 0 && n <= MNG_NODE_NO_MAX ? SQ_ENOMEM : SQ_EPROTO;
        x->member = x->came = true;
    }
    return 0;
}

static uint32_t count(const struct mng *m)
{
    uint32_t members = 0;

    each_node(m, n)
        members += n->member;
    return members;
}

static void tell(struct mng *m, const struct mnode *to)
{
    struct arena *a = &m->out->box.mem; /* a node may be forgotten before this is sent */
    uint32_t n = count(m);
    struct member_row *v;
    struct msg_members *g;

    if (m->members_version == 0 || to->peer == 0 || to->foreign || !to->came)
        return;
    v = arena_array(a, n, sizeof(*v));
    g = &mng_to(m, to->peer, MSG_MEMBERS)->members;
    g->epoch = m->epoch;
    g->version = m->members_version;
    g->self = to->no;
    g->v = v;
    each_node(m, x)
        if (v != NULL && x->member)
            v[g->n++] = (struct member_row){ x->no, arena_strdup(a, x->name),
                                             arena_strdup(a, x->addr) };
}

static void tell_all(struct mng *m)
{
    each_node(m, n)
        tell(m, n);
}

/* Until a segment of one that is given up is opened elsewhere, it may come back with its tickets. */
static bool is_wanted(const struct mnode *n)
{
    return n->came && !((n->given_up || n->draining) && n->segs.n == 0);
}

bool directory_look(struct mng *m)
{
    bool changed = false;

    each_node(m, n) {
        if (n->member == is_wanted(n) ||
            (!n->member && count(m) >= MSG_MEMBERS_MAX))
            continue;
        n->member = !n->member;
        changed = true;
    }
    if (!changed)
        return false;
    assert(count(m) <= MSG_MEMBERS_MAX);
    m->members_version = u64_max(m->epoch << 24, m->members_version) + 1;
    log_info("event=directory version=%llu members=%u",
             (unsigned long long)m->members_version, count(m));
    put(m);
    tell_all(m);
    return true;
}

/* After its NODE_OK. One that was given up becomes a member again when its report is whole:
 * with the next tick. */
void directory_registered(struct mng *m, struct mnode *n, bool moved)
{
    n->came = true;
    if (directory_look(m))
        return;
    if (moved)
        tell_all(m); /* a member has another address */
    else
        tell(m, n);
}
