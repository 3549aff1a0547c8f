/* web_push.h: messages to browsers by their push services: a subscription read, a message sealed for it
 * (RFC 8291, with RFC 8188), the word that says who sends it (VAPID, RFC 8292). Shell (it draws keys).
 *
 * The key of VAPID is made of the cluster's key of contacts: so all routers have the same, no file more is to be
 * made, copied and kept, and it changes when the cluster's secret does; subscriptions of before end then. */
#ifndef SEGQ_ROUTER_WEB_PUSH_H
#define SEGQ_ROUTER_WEB_PUSH_H

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/task/url.h"
#include "common/ticket/keys.h"
#include "common/wire/msg.h"
#include "router/gate/p256.h"

#define PUSH_AUTH   16u
#define PUSH_SALT   16u

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
/* Reads, in place, what PushSubscription.toJSON() says. NULL, or what is wrong: its url has to be https, without a port. */
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
