/* state.c: peers, and messages to them. */
#include "segment/core/state.h"

#include <assert.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/text.h"

struct peer *segtab_peer(struct segtab *t, peer_no no)
{
    for (uint32_t i = 0; i < t->n_peers; i++)
        if (t->peers[i].no == no)
            return &t->peers[i];
    return NULL;
}

const struct peer *segtab_peer_named(const struct segtab *t, const char *name,
                                     uint8_t role)
{
    for (uint32_t i = 0; i < t->n_peers; i++)
        if (t->peers[i].role == role && strcmp(t->peers[i].name, name) == 0)
            return &t->peers[i];
    return NULL;
}

struct peer *peer_add(struct segtab *t, peer_no no, uint8_t role, const char *name)
{
    struct peer *p;

    assert(no != 0 && no != SEGTAB_SELF);
    if (!GROW(t->peers, t->n_peers, t->cap_peers, 16))
        return NULL;
    p = &t->peers[t->n_peers++];
    *p = (struct peer) { .no = no, .role = role };
    copy_text(p->name, sizeof(p->name), name);
    return p;
}

struct outbox *segtab_to(struct segtab *t, peer_no peer, struct outbox *out)
{
    return peer == SEGTAB_SELF ? &t->loop[t->loop_in] : out;
}

void segtab_error(struct outbox *out, peer_no to, int code, uint32_t about,
                  const char *text)
{
    outbox_add(out, to, MSG_ERROR)->error = (struct msg_error) { code, about, text };
}
