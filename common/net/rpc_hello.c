/* rpc_hello.c: both ends prove that they know the link key, and say who they are.
 *
 * What can go wrong, and the answer:
 *   another layout, name or frame than expected     closed: "bad hello", "unexpected frame"
 *   a role that may not talk to us here             closed before the MAC is looked at
 *   our own name in our own role (we dialled us)    closed
 *   no version of the protocol that both speak      closed; the acceptor has sent its card
 *                                                   first, so both logs name the versions
 *   wrong key; a PROOF or CHALLENGE heard earlier   closed: the MAC covers both nonces
 *   silence                                         closed after 3 s (rpc.c)
 * A name that is already connected changes nothing for the connection that is there: who
 * of the two is right is the user's business (incarnations, epochs).
 *
 * The MACs cover the cards as they were sent, also what we do not understand of them: so
 * a newer version may say more in its card. */
#include "common/net/rpc_hello.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/versions.h"
#include "common/net/rpc_chan.h"

static uint8_t *put(uint8_t *p, uint64_t v, unsigned n)
{
    for (; n > 0; n--, v >>= 8)
        *p++ = (uint8_t)v;
    return p;
}

static uint64_t get(const uint8_t **p, unsigned n)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)(*p)[i] << (8 * i);
    *p += n;
    return v;
}

static void pack(struct hello *h)
{
    size_t len = strlen(h->node);
    uint8_t *p = put(h->card, h->version, 4);

    p = put(p, h->role, 1);
    p = put(p, len, 1);
    p = put(p, h->oldest, 2);
    p = put(p, h->incarnation, 8);
    p = put(p, h->heartbeat_ms, 4);
    memcpy(p, h->nonce, HELLO_NONCE_BYTES);
    memcpy(p + HELLO_NONCE_BYTES, h->node, len);
    h->card_len = HELLO_CARD_BYTES + len;
}

static bool name_ok(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] <= ' ' || p[i] > '~')
            return false;
    return n > 0 && n <= NAME_MAX_LEN;
}

/* n: of the whole card. What is behind the name is for newer versions. */
static bool unpack(struct hello *h, const uint8_t *p, size_t n)
{
    size_t len;

    if (n < HELLO_CARD_BYTES || n > HELLO_CARD_MAX)
        return false;
    memcpy(h->card, p, n);
    h->card_len = n;
    h->version = (uint32_t)get(&p, 4);
    h->role = (uint8_t)get(&p, 1);
    len = get(&p, 1);
    h->oldest = (uint32_t)get(&p, 2);
    h->incarnation = get(&p, 8);
    h->heartbeat_ms = (uint32_t)get(&p, 4);
    memcpy(h->nonce, p, HELLO_NONCE_BYTES);
    p += HELLO_NONCE_BYTES;
    if (n < HELLO_CARD_BYTES + len || !name_ok(p, len))
        return false;
    memcpy(h->node, p, len);
    h->node[len] = '\0';
    return h->version > 0 && h->oldest <= h->version && h->heartbeat_ms > 0 &&
           h->role > 0 && h->role < RPC_NROLES;
}

static void mac_card(crypto_generichash_state *st, const struct hello *h)
{
    uint8_t len[4];

    put(len, h->card_len, sizeof(len));
    crypto_generichash_update(st, len, sizeof(len));
    crypto_generichash_update(st, h->card, h->card_len);
}

/* Keyed BLAKE2b over the label, then the dialler's card, then the acceptor's, each behind
 * its length. The label ends with a 0, so nothing can be read two ways. */
static void mac(uint8_t out[HELLO_MAC_BYTES], const uint8_t key[32], const char *who,
                const struct hello *dialler, const struct hello *acceptor)
{
    static const char protocol[] = "segq-link-1 ";
    crypto_generichash_state st;

    crypto_generichash_init(&st, key, 32, HELLO_MAC_BYTES);
    crypto_generichash_update(&st, (const uint8_t *)protocol, sizeof(protocol) - 1);
    crypto_generichash_update(&st, (const uint8_t *)who, strlen(who) + 1);
    mac_card(&st, dialler);
    mac_card(&st, acceptor);
    crypto_generichash_final(&st, out, HELLO_MAC_BYTES);
    sodium_memzero(&st, sizeof(st));
}

/* The key that made it, or NULL. There are two while the cluster's secret is changed; the
 * dialler then proves itself with the one that the acceptor has used. */
static const uint8_t *key_of(const uint8_t *theirs, const struct rpc *r, const char *who,
                             const struct hello *dialler, const struct hello *acceptor)
{
    uint8_t want[HELLO_MAC_BYTES];

    mac(want, r->link_key, who, dialler, acceptor);
    if (sodium_memcmp(want, theirs, sizeof(want)) == 0)
        return r->link_key;
    if (!r->has_other_key)
        return NULL;
    mac(want, r->other_link_key, who, dialler, acceptor);
    return sodium_memcmp(want, theirs, sizeof(want)) == 0 ? r->other_link_key : NULL;
}

static void introduce(struct rpc_chan *ch)
{
    struct rpc *r = ch->rpc;

    ch->mine.version = PROTOCOL_VERSION;
    ch->mine.oldest = PROTOCOL_OLDEST;
    ch->mine.role = (uint8_t)r->role;
    ch->mine.incarnation = r->incarnation;
    ch->mine.heartbeat_ms = r->heartbeat_ms;
    memcpy(ch->mine.node, r->node, sizeof(ch->mine.node));
    randombytes_buf(ch->mine.nonce, sizeof(ch->mine.nonce));
    pack(&ch->mine);
}

/* The highest version that both know. False: there is none. */
static bool find_version(struct rpc_chan *ch)
{
    const struct hello *h = &ch->theirs;
    uint32_t v = h->version < PROTOCOL_VERSION ? h->version : PROTOCOL_VERSION;

    ch->peer.speaks = v;
    if (v >= PROTOCOL_OLDEST && v >= h->oldest)
        return true;
    chan_fail(ch, "it speaks protocol %u to %u, we %u to %u", h->oldest, h->version,
              PROTOCOL_OLDEST, PROTOCOL_VERSION);
    return false;
}

/* The peer's own word; proved only when the MAC is right. */
static bool meet(struct rpc_chan *ch, const uint8_t *p, size_t n)
{
    struct hello *h = &ch->theirs;

    if (!unpack(h, p, n)) {
        chan_fail(ch, "bad hello");
        return false;
    }
    memcpy(ch->peer.node, h->node, sizeof(h->node));
    ch->peer.role = (enum rpc_role)h->role;
    ch->peer.version = h->version;
    ch->peer.incarnation = h->incarnation;
    if ((ch->roles & 1u << h->role) == 0) {
        chan_fail(ch, "role %s is not allowed here", rpc_role_name(ch->peer.role));
        return false;
    }
    if (h->role == (uint8_t)ch->rpc->role && strcmp(h->node, ch->rpc->node) == 0) {
        chan_fail(ch, "it has our own name");
        return false;
    }
    return true;
}

/* The slower of the two heartbeats counts: they may be configured differently. */
static void agree(struct rpc_chan *ch)
{
    uint32_t ms = ch->theirs.heartbeat_ms;

    ms = ms > HEARTBEAT_MAX_MS ? HEARTBEAT_MAX_MS : ms;
    ms = ms > ch->rpc->heartbeat_ms ? ms : ch->rpc->heartbeat_ms;
    ch->silence_ms = SILENT_INTERVALS * ms;
    chan_up(ch);
}

void hello_start(struct rpc_chan *ch)
{
    introduce(ch);
    ch->state = CHAN_CHALLENGE;
    chan_send(ch, MSG_HELLO, ch->mine.card, ch->mine.card_len);
}

static void on_hello(struct rpc_chan *ch, const struct frame *f)
{
    uint8_t b[HELLO_CARD_MAX + HELLO_MAC_BYTES];
    size_t n;

    if (!meet(ch, f->body, f->len))
        return;
    introduce(ch);
    n = ch->mine.card_len;
    memcpy(b, ch->mine.card, n);
    mac(b + n, ch->rpc->link_key, "acceptor", &ch->theirs, &ch->mine);
    ch->state = CHAN_PROOF;
    chan_send(ch, MSG_CHALLENGE, b, n + HELLO_MAC_BYTES);
    ch->flush = !find_version(ch); /* tell the peer why, too */
}

static void on_challenge(struct rpc_chan *ch, const struct frame *f)
{
    uint8_t proof[HELLO_MAC_BYTES];
    const uint8_t *key;
    size_t n = f->len - (f->len < HELLO_MAC_BYTES ? f->len : HELLO_MAC_BYTES);

    if (!meet(ch, f->body, n) || !find_version(ch))
        return;
    key = key_of(f->body + n, ch->rpc, "acceptor", &ch->mine, &ch->theirs);
    if (key == NULL) {
        chan_fail(ch, "it does not know the link key");
        return;
    }
    mac(proof, key, "dialler", &ch->mine, &ch->theirs);
    ch->state = CHAN_WELCOME;
    chan_send(ch, MSG_PROOF, proof, sizeof(proof));
}

static void on_proof(struct rpc_chan *ch, const struct frame *f)
{
    if (f->len != HELLO_MAC_BYTES) {
        chan_fail(ch, "bad hello");
        return;
    }
    if (key_of(f->body, ch->rpc, "dialler", &ch->theirs, &ch->mine) == NULL) {
        chan_fail(ch, "it does not know the link key");
        return;
    }
    chan_send(ch, MSG_WELCOME, NULL, 0);
    agree(ch);
}

void hello_frame(struct rpc_chan *ch, const struct frame *f)
{
    static const uint16_t awaited[] = {
        [CHAN_CHALLENGE] = MSG_CHALLENGE,
        [CHAN_WELCOME] = MSG_WELCOME,
        [CHAN_HELLO] = MSG_HELLO,
        [CHAN_PROOF] = MSG_PROOF,
    };

    assert(ch->state < CHAN_UP);
    if (f->type != awaited[ch->state])
        chan_fail(ch, "unexpected frame of type %u in the hello", f->type);
    else if (f->type == MSG_HELLO)
        on_hello(ch, f);
    else if (f->type == MSG_CHALLENGE)
        on_challenge(ch, f);
    else if (f->type == MSG_PROOF)
        on_proof(ch, f);
    else
        agree(ch);
}
