/* keys.c: secret files and what is derived from them.
 *
 *   missing, create     -> temporary file, fsync, link(2): exactly one starter wins
 *   others may read it  -> refused, with the chmod that helps
 *   not 32 bytes base64 on each line -> refused; the content is put into no message */
#define _GNU_SOURCE /* mkostemp */
#include "common/ticket/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/file.h"

#define SECRET_BYTES 32
#define FILE_MAX     256 /* a secret's file is far smaller */
#define ADMIN_TOKEN_MIN 16

static bool debugging(void)
{
    const char *s = getenv("SEGQ_DEBUG");

    return s != NULL && strcmp(s, "1") == 0;
}

int keys_init(struct err *e)
{
    const struct rlimit none = { 0, 0 };

    if (sodium_init() < 0)
        return err_set(e, SQ_EUNAVAIL, "libsodium found no source of random numbers");
    if (debugging()) /* gdb, core files and the leak sanitizer need ptrace */
        return 0;
    if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
        return err_set(e, SQ_ESYS, "cannot forbid core dumps: %s", strerror(errno));
    return 0;
}

/* Best effort: without the right to lock memory a secret might be swapped out, which is
 * no reason not to serve. */
static void lock(void *p, size_t n)
{
    (void)!sodium_mlock(p, n);
}

void keys_wipe(void *p, size_t n)
{
    sodium_munlock(p, n); /* zeroes first */
}

/* The text without white space around it, 0-terminated. SQ_EGONE: there is no file. */
static int read_text(char *out, size_t cap, const char *path, struct err *e)
{
    int64_t rc = file_read(path, FILE_SECRET, out, cap - 1, NULL, e);
    size_t n = rc > 0 ? (size_t)rc : 0, start = 0;

    if (rc == SQ_ETOOBIG)
        return err_set(e, SQ_ETOOBIG, "%s: longer than a secret can be", path);
    if (rc < 0)
        return (int)rc;
    while (n > 0 && strchr(" \t\r\n", out[n - 1]) != NULL)
        n--;
    while (start < n && strchr(" \t\r\n", out[start]) != NULL)
        start++;
    memmove(out, out + start, n - start);
    out[n - start] = '\0';
    return 0;
}

static void sync_dir_of(const char *path)
{
    char dir[PATH_MAX];
    char *slash;
    int fd;

    snprintf(dir, sizeof(dir), "%s", path);
    slash = strrchr(dir, '/');
    if (slash == NULL)
        strcpy(dir, ".");
    else
        slash[slash == dir ? 1 : 0] = '\0';
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!fsync(fd); /* a lost new secret is seen at the next start, not a lost old one */
    close(fd);
}

/* 0 also if somebody else has made the file meanwhile: theirs counts. */
static int create_file(const char *path, const char *text, struct err *e)
{
    char tmp[PATH_MAX];
    int fd, rc = 0;

    if ((size_t)snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path) >= sizeof(tmp))
        return err_set(e, SQ_ETOOBIG, "%s: path too long", path);
    fd = mkostemp(tmp, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return err_set(e, SQ_ESYS, "cannot create %s: %s", path, strerror(errno));
    if (file_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0)
        rc = err_set(e, SQ_ESYS, "cannot write %s: %s", path, strerror(errno));
    else if (link(tmp, path) < 0 && errno != EEXIST)
        rc = err_set(e, SQ_ESYS, "cannot create %s: %s", path, strerror(errno));
    close(fd);
    unlink(tmp);
    if (rc == 0)
        sync_dir_of(path);
    return rc;
}

static int create_random(const char *path, int variant, struct err *e)
{
    uint8_t raw[SECRET_BYTES];
    char text[64];
    int rc;

    randombytes_buf(raw, sizeof(raw));
    sodium_bin2base64(text, sizeof(text), raw, sizeof(raw), variant);
    strcat(text, "\n");
    rc = create_file(path, text, e);
    sodium_memzero(raw, sizeof(raw));
    sodium_memzero(text, sizeof(text));
    return rc;
}

/* Reads the file's text, creating it before if asked to. */
static int secret_text(char *out, size_t cap, const char *path, bool create, int variant,
                       struct err *e)
{
    int rc = read_text(out, cap, path, e);

    if (rc != SQ_EGONE || !create)
        return rc;
    rc = create_random(path, variant, e);
    return rc < 0 ? rc : read_text(out, cap, path, e);
}

/* Reads a line of a file: 32 bytes in base64, blanks around it. */
static int secret_line(uint8_t out[SECRET_BYTES], const char *line, size_t len,
                       const char *path, struct err *e)
{
    size_t n = 0;

    if (sodium_base642bin(out, SECRET_BYTES, line, len, " \t\r", &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        n != SECRET_BYTES)
        return err_set(e, SQ_EINVAL, "%s: not %d bytes in base64", path, SECRET_BYTES);
    return 0;
}

/* The secrets of a file, a line each, 1 .. max of them. How many, or an error. */
static int secret_lines(uint8_t out[][SECRET_BYTES], int max, const char *path,
                        bool create, struct err *e)
{
    char text[FILE_MAX];
    int n = 0, rc = secret_text(text, sizeof(text), path, create,
                                sodium_base64_VARIANT_ORIGINAL, e);

    for (char *p = text; rc == 0 && p != NULL;) {
        char *end = strchr(p, '\n');

        if (n == max)
            rc = err_set(e, SQ_EINVAL, "%s: more than %d lines", path, max);
        else
            rc = secret_line(out[n++], p, end != NULL ? (size_t)(end - p) : strlen(p),
                             path, e);
        p = end != NULL ? end + 1 : NULL;
    }
    sodium_memzero(text, sizeof(text));
    return rc < 0 ? rc : n;
}

static void derive(uint8_t *out, size_t n, const char *label,
                   const uint8_t secret[SECRET_BYTES])
{
    crypto_generichash(out, n, (const uint8_t *)label, strlen(label), secret, SECRET_BYTES);
}

int keys_cluster(struct cluster_keys *k, const char *path, bool create, struct err *e)
{
    uint8_t secret[2][SECRET_BYTES];
    int n = secret_lines(secret, 2, path, create, e);

    if (n > 0) {
        lock(k, sizeof(*k));
        memset(k, 0, sizeof(*k));
        derive(k->link, sizeof(k->link), "segq link 1", secret[0]);
        derive(k->token.mac, sizeof(k->token.mac), "segq token 1", secret[0]);
        derive(k->token.subject, sizeof(k->token.subject), "segq subject 1", secret[0]);
        derive(k->challenge, sizeof(k->challenge), "segq challenge 1", secret[0]);
        derive(k->contact, sizeof(k->contact), "segq contact 1", secret[0]);
    }
    if (n > 1) {
        k->has_other_link = k->token.has_other = true;
        derive(k->other_link, sizeof(k->other_link), "segq link 1", secret[1]);
        derive(k->token.other_mac, sizeof(k->token.other_mac), "segq token 1", secret[1]);
        derive(k->token.other_subject, sizeof(k->token.other_subject), "segq subject 1", secret[1]);
        derive(k->other_challenge, sizeof(k->other_challenge), "segq challenge 1", secret[1]);
        derive(k->other_contact, sizeof(k->other_contact), "segq contact 1", secret[1]);
    }
    sodium_memzero(secret, sizeof(secret));
    return n < 0 ? n : 0;
}

int keys_pass(struct pass_key *k, const char *path, bool create, struct err *e)
{
    uint8_t seed[1 + PASS_OTHERS_MAX][SECRET_BYTES], unused[sizeof(k->secret)];
    int n = secret_lines(seed, 1 + PASS_OTHERS_MAX, path, create, e);

    if (n > 0) {
        lock(k, sizeof(*k));
        memset(k, 0, sizeof(*k));
        crypto_sign_seed_keypair(k->public, k->secret, seed[0]);
    }
    for (int i = 1; i < n; i++)
        crypto_sign_seed_keypair(k->others.key[k->others.n++], unused, seed[i]);
    sodium_memzero(seed, sizeof(seed));
    sodium_memzero(unused, sizeof(unused));
    return n < 0 ? n : 0;
}

int keys_admin_token(char *out, size_t cap, const char *path, bool create, struct err *e)
{
    char text[FILE_MAX];
    int rc = secret_text(text, sizeof(text), path, create,
                         sodium_base64_VARIANT_URLSAFE_NO_PADDING, e);
    size_t n = rc == 0 ? strlen(text) : 0;

    if (rc == 0 && (n < ADMIN_TOKEN_MIN || n >= cap))
        rc = err_set(e, SQ_EINVAL, "%s: must have %d to %zu characters", path,
                     ADMIN_TOKEN_MIN, cap - 1);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            rc = err_set(e, SQ_EINVAL, "%s: only visible ASCII can be sent in a header", path);
    if (rc == 0) {
        lock(out, cap);
        memcpy(out, text, n + 1);
    }
    sodium_memzero(text, sizeof(text));
    return rc;
}

int keys_password(char *out, size_t cap, const char *path, struct err *e)
{
    char text[FILE_MAX];
    int rc = read_text(text, sizeof(text), path, e);
    size_t n = rc == 0 ? strlen(text) : 0;

    if (rc == 0 && (n == 0 || n >= cap))
        rc = err_set(e, SQ_EINVAL, "%s: must have 1 to %zu characters", path, cap - 1);
    if (rc == 0)
        memcpy(out, text, n + 1);
    sodium_memzero(text, sizeof(text));
    return rc;
}

/* ---- the right to look at a waiting page ---- */

#define MAC_BYTES 16

static void put_mac(uint8_t mac[MAC_BYTES], const uint8_t link[LINK_KEY_BYTES], const char *queue,
                    int64_t until_s)
{
    static const char label[] = "segq preview 1";
    uint8_t key[32];
    char text[200];
    int n = snprintf(text, sizeof(text), "%" PRId64 " %.150s", until_s, queue);

    crypto_generichash(key, sizeof(key), (const uint8_t *)label, strlen(label), link,
                       LINK_KEY_BYTES);
    crypto_generichash(mac, MAC_BYTES, (const uint8_t *)text, (size_t)n, key, sizeof(key));
    sodium_memzero(key, sizeof(key));
}

void preview_write(char out[PREVIEW_TEXT_CAP], const struct cluster_keys *k, const char *queue,
                   int64_t until_s)
{
    uint8_t mac[MAC_BYTES];
    int n = snprintf(out, PREVIEW_TEXT_CAP, "%" PRId64 ".", until_s);

    put_mac(mac, k->link, queue, until_s);
    sodium_bin2hex(out + n, PREVIEW_TEXT_CAP - (size_t)n, mac, sizeof(mac));
}

/* Digits, at most those of some thousand years; -1: something else. */
static int64_t read_until(const char *text, const char **end)
{
    int64_t v = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9' && p - text < 12; p++)
        v = v * 10 + (*p - '0');
    *end = p + 1;
    return p > text && *p == '.' ? v : -1;
}

bool preview_ok(const char *text, const struct cluster_keys *k, const char *queue, int64_t now_s)
{
    uint8_t got[MAC_BYTES], want[MAC_BYTES];
    const char *mac;
    int64_t until_s = read_until(text, &mac);
    size_t n;
    bool good;

    if (until_s < now_s || until_s > now_s + 2 * PREVIEW_TTL_S || strlen(mac) != 2 * MAC_BYTES ||
        sodium_hex2bin(got, sizeof(got), mac, 2 * MAC_BYTES, NULL, &n, NULL) != 0)
        return false;
    put_mac(want, k->link, queue, until_s);
    good = sodium_memcmp(got, want, sizeof(got)) == 0;
    if (!good && k->has_other_link) {
        put_mac(want, k->other_link, queue, until_s);
        good = sodium_memcmp(got, want, sizeof(got)) == 0;
    }
    return good;
}
