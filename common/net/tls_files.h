/* tls_files.h: certificates and private keys from files into a context of OpenSSL. Shell. For tls.c
 * and tls_server.c. */
#ifndef SEGQ_TLS_FILES_H
#define SEGQ_TLS_FILES_H

#include "common/base/err.h"
#include "common/base/file.h"

struct ssl_ctx_st;

struct tls_pair { /* files, and the keys that name them: errors begin with these */
    const char *cert_key, *cert, *key_key, *key;
};

/* The chain and its key. SQ_EINVAL with the key, the file, and what is wrong with it. */
SQ_CHECK int tls_load_pair(struct ssl_ctx_st *ssl, const struct tls_pair *p, struct err *e);
/* A file, and of the kind that is wanted: OpenSSL would wait at a FIFO for ever. */
SQ_CHECK int tls_check_file(const char *key, const char *path, enum file_kind kind, struct err *e);
SQ_CHECK int tls_bad_file(struct err *e, const char *key, const char *path, const char *what);
/* OpenSSL's own reason, in its words; the queue of errors is empty afterwards. */
const char *tls_reason(const char *otherwise);

#endif
