/* contact.h: contacts are sealed by the router that takes them, with a key of the cluster
 * (crypto_secretbox), together with the ticket's token, which a node does not keep either. Shell (it draws
 * nonces). */
#ifndef SEGQ_ROUTER_CONTACT_H
#define SEGQ_ROUTER_CONTACT_H

#include "common/ticket/keys.h"
#include "common/wire/msg_router_segment.h"

/* Number of bytes in out. token: TOKEN_TEXT_LEN characters; contact: 1 .. CONTACT_MAX bytes of JSON. */
uint16_t contact_seal(const struct cluster_keys *k, const char *token, const char *contact, size_t n,
                      uint8_t out[CONTACT_SEALED_MAX]);
/* The token, and a 0-terminated contact behind it. 0; 1: by the secret's other key; SQ_EAUTH: no key of ours has sealed it. */
SQ_CHECK int contact_open(const struct cluster_keys *k, const uint8_t *sealed, size_t n,
                          char out[TOKEN_TEXT_LEN + CONTACT_MAX + 1]);

#endif
