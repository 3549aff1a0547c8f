/* certrig.h: authorities and certificates, made for a test in a folder of its own. */
#ifndef SEGQ_TESTS_CERTRIG_H
#define SEGQ_TESTS_CERTRIG_H

#include "tests/lib/criterion.h"
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/tls.h"

struct authority {
    EVP_PKEY *key;
    X509 *cert;
};

static char cert_dir[] = "/tmp/segq-certs-XXXXXX";
static char cert_paths[16][64]; /* of what cert_path() returned lately */

/* A path in the folder. The string lives for 15 calls more. */
static inline char *cert_path(const char *name, const char *suffix)
{
    static unsigned n;
    char *p = cert_paths[n++ % ARRAY_LEN(cert_paths)];

    snprintf(p, sizeof(cert_paths[0]), "%s/%s%s", cert_dir, name, suffix);
    return p;
}

static inline void certs_begin(void)
{
    cr_assert_not_null(mkdtemp(cert_dir));
}

static inline void certs_end(void)
{
    char cmd[64];

    snprintf(cmd, sizeof(cmd), "rm -r %s", cert_dir);
    cr_assert_eq(system(cmd), 0);
}

static inline void cert_extend(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;

    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    cr_assert_not_null(ext);
    X509_add_ext(x, ext, -1);
    X509_EXTENSION_free(ext);
}

/* days: until it lapses; names: "DNS:a,IP:127.0.0.1", or NULL for an authority; usage: "serverAuth", or
   NULL: for everything. */
static inline X509 *cert_make(EVP_PKEY *key, const char *subject, const char *names, const char *usage,
                              long days, const struct authority *by)
{
    X509 *x = X509_new();
    X509_NAME *n = X509_get_subject_name(x);
    static long serial;

    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), -10 * 86400);
    X509_gmtime_adj(X509_getm_notAfter(x), days * 86400);
    X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const uint8_t *)subject, -1, -1, 0);
    X509_set_issuer_name(x, by == NULL ? n : X509_get_subject_name(by->cert));
    X509_set_pubkey(x, key);
    cert_extend(x, by == NULL ? x : by->cert, NID_basic_constraints,
                by == NULL ? "critical,CA:TRUE" : "CA:FALSE");
    if (names != NULL)
        cert_extend(x, by->cert, NID_subject_alt_name, names);
    if (usage != NULL)
        cert_extend(x, by->cert, NID_ext_key_usage, usage);
    cr_assert_gt(X509_sign(x, by == NULL ? key : by->key, EVP_sha256()), 0);
    return x;
}

static inline void cert_write(const char *name, EVP_PKEY *key, X509 *x)
{
    FILE *f = fopen(cert_path(name, ".key"), "w");

    cr_assert_not_null(f);
    cr_assert_eq(fchmod(fileno(f), 0600), 0);
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    f = fopen(cert_path(name, ".crt"), "w");
    PEM_write_X509(f, x);
    fclose(f);
}

/* NAME.crt and NAME.key in the folder. */
static inline struct authority authority_make(const char *name)
{
    struct authority a = { .key = EVP_EC_gen("P-256") };

    a.cert = cert_make(a.key, name, NULL, NULL, 30, NULL);
    cert_write(name, a.key, a.cert);
    return a;
}

static inline void authority_free(struct authority *a)
{
    X509_free(a->cert);
    EVP_PKEY_free(a->key);
}

static inline void cert_issue_for(const struct authority *by, const char *name, const char *names,
                                  const char *usage, long days)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = cert_make(key, name, names, usage, days, by);

    cert_write(name, key, x);
    X509_free(x);
    EVP_PKEY_free(key);
}

static inline void cert_issue(const struct authority *by, const char *name, const char *names,
                              long days)
{
    cert_issue_for(by, name, names, NULL, days);
}

/* What the process `name` has; ca: of whom it believes; peer: "" or the name of who dials. */
static inline struct cfg_tls cert_files(const char *name, const char *ca, char *peer)
{
    return (struct cfg_tls){ .mode = TLS_REQUIRE, .cert = cert_path(name, ".crt"), .key = cert_path(name, ".key"),
                               .ca = cert_path(ca, ".crt"), .name = peer };
}

static inline struct tls_ctx *cert_ctx(const char *name, const char *ca, char *peer)
{
    struct cfg_tls f = cert_files(name, ca, peer);
    struct tls_ctx *c = NULL;
    struct err e = { 0 };

    cr_assert_eq(tls_ctx_files(&c, &f, &e), 0, "%s", e.text);
    return c;
}

#endif
