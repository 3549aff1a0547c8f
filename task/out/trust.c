/* trust.c: see the header. A bundle of all public authorities takes 40 ms to parse, and libcurl would do it
 * in the loop for each new connection. */
#include "task/out/trust.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "task/out/out_call.h"

/* ---- address ------------------------------------------------------------------------------ */

/* An answer of name servers is used again for some seconds; while a newer one is asked
 * for, the old one counts. */

#define FRESH_MS 5000
#define STALE_MS 60000

static bool has_proxy(const struct out_target *t)
{
    return t->proxy.host[0] != 0;
}

bool address_may(const struct out_target *t, const struct net_addr *a)
{
    struct ip ip;

    return has_proxy(t) ||
           (net_ip(a, &ip) && ssrf_lets(&ip, t->rules.allow, t->rules.n_allow));
}

static void hop(const struct out_target *t, char *text, size_t cap)
{
    const struct url *u = has_proxy(t) ? &t->proxy : &t->url;
    const char *host = u == &t->url && t->address[0] != 0 ? t->address : u->host;

    snprintf(text, cap, strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, u->port);
}

static bool pick(const struct out_target *t, struct net_addr *a)
{
    for (unsigned i = 0; i < t->known.n; i++) {
        *a = t->known.addr[(t->at + i) % t->known.n];
        if (address_may(t, a))
            return true;
    }
    return false;
}

/* The host in text, and its address if it is a number. 0; or SQ_EUNKNOWN: it is a name. */
static int parse_hop(const struct out_target *t, char *text, size_t cap, struct net_addr *a)
{
    hop(t, text, cap);
    return net_parse(a, text, NULL);
}

/* A name that is asked for already is not asked for again. */
static void ask(struct out_target *t, const char *text, host_fn fn)
{
    if (t->question == NULL)
        t->question = hosts_ask(&t->out->hosts, text, fn, t);
}

bool address_is_refused(struct out_target *t, host_fn fn, char *why, size_t cap)
{
    struct net_addr a;
    char text[URL_HOST_MAX + 16], ip[NET_TEXT_MAX];
    bool is_refused, is_name = parse_hop(t, text, sizeof(text), &a) != 0;

    is_refused = is_name ? t->known.n > 0 && !pick(t, &a) : !address_may(t, &a);
    if (is_name && (is_refused ? ev_now(t->out->ev) - t->asked_ms >= FRESH_MS : t->asked_ms == 0))
        ask(t, text, fn);
    if (!is_refused)
        return false;
    net_ip_text(is_name ? &t->known.addr[0] : &a, ip);
    if (is_name)
        snprintf(why, cap, "%s is at %s, which is not public, and not in `allow`", t->url.host, ip);
    else
        snprintf(why, cap, "%s is not public, and not in `allow`", ip);
    return true;
}

enum address address_of(struct out_target *t, struct net_addr *a, host_fn fn)
{
    msec_t age = ev_now(t->out->ev) - t->asked_ms;
    char text[URL_HOST_MAX + 16];

    if (parse_hop(t, text, sizeof(text), a) == 0)
        return address_may(t, a) ? ADDRESS_KNOWN : ADDRESS_REFUSED;
    if (t->known.n == 0 || age >= FRESH_MS)
        ask(t, text, fn);
    if (t->known.n > 0 && age < STALE_MS)
        return pick(t, a) ? ADDRESS_KNOWN : ADDRESS_REFUSED;
    return t->question != NULL ? ADDRESS_ASKED : ADDRESS_NONE;
}

void address_told(struct out_target *t, const struct host_answer *a)
{
    bool is_stale = ev_now(t->out->ev) - t->asked_ms >= STALE_MS;

    t->question = NULL;
    if (a->n == 0 && t->known.n > 0 && !is_stale)
        return; /* the last good ones, for a while */
    t->known = *a;
    t->at = 0;
    t->asked_ms = ev_now(t->out->ev);
}

void address_failed(struct out_target *t)
{
    t->at++;
}

bool ssrf_lets(const struct ip *ip, const struct ip_net *allow, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (ip_in(&allow[i], ip))
            return true;
    return ip_is_public(ip);
}

static int no_password(char *to, int cap, int is_writing, void *arg)
{
    (void)to;
    (void)cap;
    (void)is_writing;
    (void)arg;
    return -1;
}

static BIO *open_text(struct call_span text)
{
    return BIO_new_mem_buf(text.p, (int)text.n);
}

/* Adds all that a text has; the first certificate goes to *first. False: no memory. */
static bool fill(X509_STORE *store, const STACK_OF(X509_INFO) *all, const X509 **first)
{
    bool ok = true;

    for (int i = 0; i < sk_X509_INFO_num(all); i++) {
        const X509_INFO *x = sk_X509_INFO_value(all, i);

        if (x->x509 != NULL)
            ok &= X509_STORE_add_cert(store, x->x509) == 1;
        if (x->crl != NULL)
            ok &= X509_STORE_add_crl(store, x->crl) == 1;
        if (*first == NULL)
            *first = x->x509;
    }
    X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN); /* like libcurl */
    return ok;
}

/* libcurl uses a connection again for an equal key alone. */
static bool make_key(struct buf *key, const X509 *first, uint64_t number)
{
    BIO *b = BIO_new(BIO_s_mem());
    char *p;
    long n;

    if (b != NULL && PEM_write_bio_X509(b, first) == 1) {
        n = BIO_get_mem_data(b, &p);
        buf_append(key, p, (size_t)n);
        buf_printf(key, "segq %llu\n", (unsigned long long)number);
    }
    BIO_free(b);
    return key->len > 0 && !key->failed;
}

int trust_read(struct trust *t, struct call_span ca, uint64_t number, struct err *e)
{
    BIO *b = ca.n > 0 ? open_text(ca) : NULL;
    STACK_OF(X509_INFO) *all = b != NULL ? PEM_X509_INFO_read_bio(b, NULL, no_password, NULL) : NULL;
    X509_STORE *store = all != NULL ? X509_STORE_new() : NULL;
    const X509 *first = NULL;
    int rc = 0;

    *t = (struct trust){ .store = store };
    buf_init(&t->key);
    if (ca.n > 0 && (store == NULL || !fill(store, all, &first)))
        rc = err_set(e, SQ_EINVAL, "tls.ca_file: its certificates cannot be read");
    else if (ca.n > 0 && first == NULL)
        rc = err_set(e, SQ_EINVAL, "tls.ca_file: no certificate is in it");
    else if (ca.n > 0 && !make_key(&t->key, first, number))
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    BIO_free(b);
    ERR_clear_error(); /* libcurl would take it for its own */
    if (rc < 0)
        trust_fini(t);
    return rc;
}

void trust_fini(struct trust *t)
{
    X509_STORE_free(t->store);
    buf_fini(&t->key);
    *t = (struct trust){ 0 };
}

const char *trust_pair_wrong(struct call_span cert, struct call_span key)
{
    BIO *b = open_text(cert), *c = open_text(key);
    X509 *x = cert.n > 0 && b != NULL ? PEM_read_bio_X509(b, NULL, no_password, NULL) : NULL;
    EVP_PKEY *k = key.n > 0 && c != NULL ? PEM_read_bio_PrivateKey(c, NULL, no_password, NULL) : NULL;
    const char *why = NULL;

    if (cert.n > 0 && x == NULL)
        why = "tls.cert_file: its certificate cannot be read";
    else if (key.n > 0 && k == NULL)
        why = "tls.key_file: its key cannot be read (a key with a password is none)";
    else if (x != NULL && k != NULL && X509_check_private_key(x, k) != 1)
        why = "tls.cert_file and tls.key_file do not belong together";
    EVP_PKEY_free(k);
    X509_free(x);
    BIO_free(c);
    BIO_free(b);
    ERR_clear_error();
    return why;
}

void trust_give(void *ssl_ctx, const struct trust *t)
{
    SSL_CTX_set1_cert_store(ssl_ctx, t->store);
}
