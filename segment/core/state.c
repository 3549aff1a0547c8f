/* state.c: peers, and messages to them. */
#include "segment/core/state.h"

#include <string.h>

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

struct outbox *segtab_to(struct segtab *t, peer_no peer, struct outbox *out)
{
    return peer == SEGTAB_SELF ? &t->loop[t->loop_in] : out;
}

void segtab_error(struct outbox *out, peer_no to, int code, uint32_t about,
                  const char *text)
{
    outbox_add(out, to, MSG_ERROR)->error = (struct msg_error) { code, about, text };
}
