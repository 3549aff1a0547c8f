/* forwarded.h: the client that a proxy asks for, as X-Forwarded-For or Forwarded say it. Pure.
 *
 * Proxies append: the rightmost address was written by the one that is connected to us, the one
 * before it by the proxy that was connected to that one, and so on. So we read from the right, past
 * our own proxies, to the first address that is not one of them: what stands further left was told
 * by that client and is worth nothing. */
#ifndef SEGQ_FORWARDED_H
#define SEGQ_FORWARDED_H

#include "common/base/ip.h"
#include "common/http/http.h"

#define FORWARDED_MAX 16 /* addresses that are looked at, from the right */

enum forwarded_form {
    FORWARDED_X,       /* X-Forwarded-For: a, b, c */
    FORWARDED_RFC_7239 /* Forwarded: for=a;proto=http, for="[b]:1" */
};

/* lines: the field's lines in their order. 1: *out is the client; 0: there is none to be
 * had (no line, or only proxies); SQ_EINVAL: malformed before a client was found. */
SQ_CHECK int forwarded_client(struct ip *out, enum forwarded_form form,
                              const struct slice *lines, size_t n_lines,
                              const struct ip_net *proxies, size_t n_proxies);

#endif
