/* endpoint_url.h: what a url of an endpoint, a target, a proxy or a service may be; networks. Pure. */
#ifndef SEGQ_ENDPOINT_URL_H
#define SEGQ_ENDPOINT_URL_H

#include "common/base/err.h"
#include "common/config/cfg.h"

/* NULL, or what is wrong. */
const char *endpoint_url_wrong(const char *url, bool with_path);
/* l: char *, networks. 0, or SQ_EINVAL with a sentence: key.3: ... */
SQ_CHECK int networks_check(const struct cfg_list *l, const char *key, struct err *e);
/* Letters, digits, and those others. */
bool endpoint_text_is_of(const char *p, size_t n, const char *others);

#endif
