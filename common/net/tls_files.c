/* tls_files.c: see tls_files.h. */
#include "common/net/tls_files.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *tls_reason(const char *otherwise)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);

    ERR_clear_error();
    return text != NULL ? text : otherwise;
}

int tls_bad_file(struct err *e, const char *key, const char *path, const char *what)
{
    return err_set(e, SQ_EINVAL, "%s: %s: %s (%s)", key, path, what, tls_reason("cannot be read"));
}

int tls_check_file(const char *key, const char *path, enum file_kind kind, struct err *e)
{
    struct stat st;
    int fd = file_open(path, &st, e), rc = fd < 0 ? fd : 0;

    if (fd >= 0)
        close(fd);
    if (rc == 0 && kind == FILE_SECRET)
        rc = file_check_secret(path, &st, e);
    return rc < 0 ? err_wrap(e, "%s", key) : 0;
}

/* OpenSSL would ask the terminal for it, and wait. */
static int no_passphrase(char *buf, int size, int writing, void *asked)
{
    (void)buf;
    (void)size;
    (void)writing;
    *(bool *)asked = true;
    return -1;
}

static int load_key(SSL_CTX *ssl, const char *key, const char *path, struct err *e)
{
    bool asked = false;
    int ok;

    SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, &asked);
    ok = SSL_CTX_use_PrivateKey_file(ssl, path, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb(ssl, NULL);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL);
    if (ok == 1)
        return 0;
    return tls_bad_file(e, key, path,
                        asked ? "a passphrase protects it; keep it without one, in mode 0600"
                              : "not the private key of the certificate, in PEM form");
}

int tls_load_pair(SSL_CTX *ssl, const struct tls_pair *p, struct err *e)
{
    int rc = tls_check_file(p->cert_key, p->cert, FILE_ANY, e);

    if (rc == 0)
        rc = tls_check_file(p->key_key, p->key, FILE_SECRET, e);
    if (rc < 0)
        return rc;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ssl, p->cert) != 1)
        return tls_bad_file(e, p->cert_key, p->cert, "not a certificate in PEM form");
    return load_key(ssl, p->key_key, p->key, e);
}
