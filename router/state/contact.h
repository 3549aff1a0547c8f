/* contact.h: contacts are sealed by the router that takes them, with a key of the cluster
 * (crypto_secretbox), together with the ticket's token, which a node does not keep either. Shell (it draws
 * nonces).
 *
 * An object is sealed with a blank before it, which says how its person is told, whatever becomes of the queue's
 * definition: a browser takes messages of one sender alone. Older routers write none, and read it as JSON. */
#ifndef SEGQ_ROUTER_CONTACT_H
#define SEGQ_ROUTER_CONTACT_H

#include "common/base/text.h"
#include "common/ticket/keys.h"
#include "common/wire/msg_router_segment.h"

#define CONTACT_PLAIN_MAX (TOKEN_TEXT_LEN + 1 + CONTACT_MAX + 1) /* with a final 0 */

enum contact_way {
    CONTACT_UNSAID = 0,
    CONTACT_PUSHED = ' ',  /* by Web Push of the routers */
    CONTACT_POSTED = '\t', /* by a call of the operator's service */
};

struct contact_in {
    struct slice text; /* JSON, 1 .. CONTACT_MAX bytes */
    enum contact_way way;
    bool by_other; /* sealed by the secret's other key: that of the subscription */
};

/* Number of bytes in out. token: TOKEN_TEXT_LEN characters. */
uint16_t contact_seal(const struct cluster_keys *k, const char *token, const struct contact_in *c,
                      uint8_t out[CONTACT_SEALED_MAX]);
/* The token, and a 0-terminated contact behind it. 0; 1: by the secret's other key; SQ_EAUTH: no key of ours has sealed it. */
SQ_CHECK int contact_open(const struct cluster_keys *k, const uint8_t *sealed, size_t n, char out[CONTACT_PLAIN_MAX]);

/* Read what was opened: */
static inline enum contact_way contact_way(const char *plain)
{
    char c = plain[TOKEN_TEXT_LEN];

    return c == CONTACT_PUSHED || c == CONTACT_POSTED ? (enum contact_way)c : CONTACT_UNSAID;
}
static inline const char *contact_text(const char *plain)
{
    return plain + TOKEN_TEXT_LEN + (contact_way(plain) != CONTACT_UNSAID);
}

#endif
