/* endpoint_url.h: what a url of an endpoint, a target or a proxy may be. Pure. */
#ifndef SEGQ_ENDPOINT_URL_H
#define SEGQ_ENDPOINT_URL_H

#include "common/base/base.h"

/* NULL, or what is wrong. */
const char *endpoint_url_wrong(const char *url, bool with_path);
/* Letters, digits, and those others. */
bool endpoint_text_is_of(const char *p, size_t n, const char *others);

#endif
