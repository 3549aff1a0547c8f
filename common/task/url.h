/* url.h: the url of an endpoint, in its parts. Pure. RFC 3986, the part of it that an endpoint may
 * use: http or https, a host, a port, a path. */
#ifndef SEGQ_TASK_URL_H
#define SEGQ_TASK_URL_H

#include "common/base/base.h"

#define URL_HOST_MAX 255
#define URL_PATH_MAX 1024

struct url {
    bool tls;
    uint16_t port;
    char host[URL_HOST_MAX + 1]; /* a name, or a numeric address: v6 without brackets */
    char path[URL_PATH_MAX + 1]; /* without a slash at its end; may be "" */
};

/* NULL, or what is wrong. */
const char *url_parse(struct url *u, const char *text);
/* The next good one of a list with blanks between them, which goes behind it; false: there is none. */
bool url_next(struct url *u, const char **list);
/* Reads any url of n bytes: scheme, host and port; *used: bytes up to where its path begins. NULL, or
 * what is wrong. */
const char *url_authority(struct url *u, const char *p, size_t n, size_t *used);
/* Scheme, host and port are the same. */
bool url_same_host(const struct url *a, const struct url *b);

#endif
