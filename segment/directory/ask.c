/* ask.c: what members of the directory ask of each other. As an owner, this node
 * takes each holder's word on its own link and answers; as a holder, it hears what the
 * owners have heard, or want to be checked. */
#include "segment/directory/ask.h"

#include <assert.h>

#include "segment/core/state.h"
#include "segment/directory/permit.h"
#include "segment/directory/rows.h"
#include "segment/directory/say.h"

/* ---- an owner --------------------------------------------------------------------- */

static void claimed(struct segtab *t, uint16_t holder, const struct dir_row *r,
                    struct dir_row *a)
{
    const struct ticket_id old = { r->seg, r->number };
    uint64_t hash = r->hash;
    uint16_t other;

    a->what = (uint8_t)directory_claim(&t->dir.own, holder, hash, old, a, &other);
    a->hash = hash;
    if (other != UINT16_MAX)
        dir_check(t, other, hash);
}

/* Takes a row of a holder; true: *a is to be answered. */
static bool asked(struct segtab *t, uint16_t holder, const struct dir_row *r,
                  struct dir_row *a)
{
    struct directory *own = &t->dir.own;

    assert(holder < t->dir.n && holder != t->dir.self);
    *a = (struct dir_row){ .hash = r->hash, .what = DIR_HEARD };
    switch ((enum dir_ask)r->what) {
    case DIR_BEGIN:
        directory_begin(own, holder);
        return false;
    case DIR_PUT:
        if (directory_put(own, holder, r) == 0)
            return false;
        a->what = DIR_AGAIN; /* no memory now */
        t->dir.m[holder].from = 0;
        return true;
    case DIR_FREE:
        directory_free(own, holder, r->hash);
        return false;
    case DIR_CLAIM:
        claimed(t, holder, r, a);
        return true;
    case DIR_END:
        directory_end(own, holder);
        return true;
    default: /* DIR_ECHO */
        return true;
    }
}

/* The sender is no member that we know (yet): its claims are to be asked again. */
static void not_for_us(const struct msg_dir *m, struct dir_row *a, uint32_t *n)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->v[i].what == DIR_CLAIM)
            a[(*n)++] = (struct dir_row){ .hash = m->v[i].hash, .what = DIR_BUSY };
}

static void asks(struct segtab *t, uint16_t holder, peer_no from, const struct msg_dir *m,
                 struct dir_row *a, uint32_t *n)
{
    struct dir_member *h = &t->dir.m[holder];

    for (uint32_t i = 0; i < m->n; i++) {
        if (m->v[i].what == DIR_BEGIN)
            h->from = from;
        if (h->from != from) {
            a[(*n)++] = (struct dir_row){ .what = DIR_AGAIN };
            return;
        }
        *n += asked(t, holder, &m->v[i], &a[*n]);
    }
}

static void from_holder(struct segtab *t, const struct peer *p, const struct msg_dir *m,
                        struct outbox *out)
{
    uint16_t holder = dir_member_named(&t->dir, p->name);
    struct dir_row *a = arena_array(&out->mem, m->n + 1u, sizeof(*a));
    struct msg_dir_ans *g;
    uint32_t n = 0;

    if (a == NULL) {
        out->failed = true;
        return;
    }
    if (holder == UINT16_MAX || m->version != t->dir.version)
        not_for_us(m, a, &n);
    else
        asks(t, holder, p->no, m, a, &n);
    if (n == 0)
        return;
    g = &outbox_add(out, p->no, MSG_DIR_ANS)->dir_ans;
    g->version = m->version;
    g->n = n;
    g->v = a;
}

/* ---- a holder --------------------------------------------------------------------- */

static void checked(struct segtab *t, uint16_t i, uint64_t hash)
{
    struct dir_row r = { .hash = hash };

    if (!dir_holds(t, hash) && !permits_has(&t->dir, hash))
        dir_say(t, i, DIR_FREE, &r);
}

static void from_owner(struct segtab *t, const struct peer *p, const struct msg_dir_ans *m)
{
    uint16_t i = dir_member_named(&t->dir, p->name);

    if (i == UINT16_MAX || m->version != t->dir.version)
        return;
    for (uint32_t k = 0; k < m->n; k++) {
        const struct dir_row *r = &m->v[k];

        if (r->what == DIR_CHECK)
            checked(t, i, r->hash);
        else if (t->dir.m[i].to != p->no)
            continue; /* to what was asked on a link before */
        else if (r->what == DIR_HEARD)
            dir_heard(t, i, r->hash);
        else if (r->what == DIR_AGAIN)
            dir_say_begin(t, i);
        else
            permits_answer(t, i, r);
    }
}

void segtab_dir_msg(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    const struct peer *p = segtab_peer(t, from);

    if (p == NULL || p->role != RPC_SEGMENT)
        return;
    if (m->type == MSG_DIR)
        from_holder(t, p, &m->dir, out);
    else
        from_owner(t, p, &m->dir_ans);
}
