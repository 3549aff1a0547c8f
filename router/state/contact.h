/* contact.h: how people are told of their turn who do not poll: contacts of tickets, and messages to
 * browsers. Shell (it draws keys and nonces).
 *
 * Contacts are sealed by the router that takes them, with a key of the cluster
 * (crypto_secretbox), together with the ticket's token, which a node does not keep either.
 *
 * An object is sealed with a blank before it, which says how its person is told, whatever becomes of the queue's
 * definition: a browser takes messages of one sender alone. Older routers write none, and read it as JSON.
 *
 * Browsers are told by their push services (web_push_...): a subscription read, a message sealed for it (RFC 8291,
 * with RFC 8188), the word that says who sends it (VAPID, RFC 8292). The key of VAPID is made of the cluster's key of
 * contacts: so all routers have the same, no file more is to be made, copied and kept, and it changes when the
 * cluster's secret does; subscriptions of before end then. */
#ifndef SEGQ_ROUTER_CONTACT_H
#define SEGQ_ROUTER_CONTACT_H

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/task/rules.h"
#include "common/task/url.h"
#include "common/ticket/keys.h"
#include "common/wire/msg_router_segment.h"
#include "router/gate/p256.h"

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
/* The token, and a 0-terminated contact behind it. 0; 1: by the secret's other key; SQ_EAUTH: no key of
 * ours has sealed it. */
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

/* ---- messages to browsers ---- */

#define PUSH_AUTH 16u
#define PUSH_SALT 16u

struct web_push_key {
    uint8_t secret[P256_COORD], point[P256_POINT];
    char text[PUSH_KEY_LEN + 1]; /* point, as pages have it */
};

struct web_push { /* a subscription: foreign */
    char host[URL_HOST_MAX + 1]; /* small letters */
    char path[CONTACT_MAX + 1];
    uint8_t point[P256_POINT], auth[PUSH_AUTH];
};

SQ_CHECK int web_push_key_of(struct web_push_key *k, const uint8_t contact_key[CONTACT_KEY_BYTES]);
/* Reads, in place, what PushSubscription.toJSON() says. NULL, or what is wrong: its url
 * has to be https, without a port. */
const char *web_push_read(struct web_push *w, struct slice json);
/* Queue of its calls: "QUEUE/HOST", of a pool with an endpoint. False: no queue has such a name. */
SQ_CHECK bool web_push_queue(const struct web_push *w, const char *queue, char out[TASK_NAME_MAX + 1]);
/* Appends the message, as the body of an answer with `Content-Encoding: aes128gcm`. SQ_EINVAL: its key is no
 * point of the curve. text: 3000 bytes at most. */
SQ_CHECK int web_push_seal(const struct web_push *w, struct slice text, struct buf *out);
/* The same with a key and a salt that are given. */
SQ_CHECK int web_push_seal_with(const struct web_push *w, const uint8_t secret[P256_COORD],
                                const uint8_t salt[PUSH_SALT], struct slice text, struct buf *out);
/* Appends the value of Authorization. sub: mailto: or https: of whoever runs this. */
SQ_CHECK int web_push_authorize(const struct web_push_key *k, const char *host, int64_t until_s, const char *sub,
                                struct buf *out);

#endif
