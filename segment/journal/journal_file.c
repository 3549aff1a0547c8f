/* journal_file.c: the format of the journal's files, and reading them. */
#include "segment/journal/journal_int.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#define WINDOW_BYTES (1u << 20)

_Static_assert(crypto_shorthash_BYTES == 8, "sums are 64 bits");
_Static_assert(crypto_shorthash_KEYBYTES == sizeof(struct jkey), "keys are 128 bits");

static const char magic[8] = { 's', 'e', 'g', 'q', 'j', 'r', 'n', '\n' };
/* Of heads and of node names. A public constant: sums guard against accidents only. */
static const uint8_t fixed_key[16] = "segq journal v*";

static uint64_t sum_of(const void *p, size_t n, const uint8_t key[16])
{
    uint8_t out[crypto_shorthash_BYTES];

    crypto_shorthash(out, p, n, key);
    return le64_get(out);
}

/* Magic, sum, version and their places are the same in all versions, for ever. */
void jhead_build(uint8_t out[JHEAD_BYTES], const struct jhead *h)
{
    memset(out, 0, JHEAD_BYTES);
    memcpy(out, magic, sizeof(magic));
    le32_put(out + 16, h->version);
    le32_put(out + 20, h->kind);
    le64_put(out + 24, h->seq);
    le64_put(out + 32, h->created_ms);
    le64_put(out + 40, h->flags);
    memcpy(out + 48, h->node, strnlen(h->node, NAME_MAX_LEN));
    le64_put(out + 112, h->boot);
    le64_put(out + 8, sum_of(out + 16, JHEAD_BYTES - 16, fixed_key));
}

enum jhead_rc jhead_parse(const uint8_t in[JHEAD_BYTES], struct jhead *h)
{
    if (memcmp(in, magic, sizeof(magic)) != 0 ||
        le64_get(in + 8) != sum_of(in + 16, JHEAD_BYTES - 16, fixed_key))
        return JHEAD_BAD;
    h->version = le32_get(in + 16);
    h->kind = (enum jkind)le32_get(in + 20);
    h->seq = le64_get(in + 24);
    h->created_ms = le64_get(in + 32);
    h->flags = le64_get(in + 40);
    memcpy(h->node, in + 48, NAME_MAX_LEN);
    h->node[NAME_MAX_LEN] = '\0';
    h->boot = le64_get(in + 112);
    return h->version > JOURNAL_FORMAT ? JHEAD_NEWER : JHEAD_OK;
}

void jkey_make(struct jkey *k, const char *node, enum jkind kind, uint64_t seq)
{
    le64_put(k->k, sum_of(node, strlen(node), fixed_key));
    le64_put(k->k + 8, seq << 2 | kind);
}

void jgroup_seal(uint8_t *group, const struct jkey *k, uint64_t at, uint64_t synced,
                 uint32_t len, uint32_t count, enum jgroup_kind kind)
{
    le64_put(group + 8, at);
    le64_put(group + 16, synced);
    le32_put(group + 24, len);
    le32_put(group + 28, count << 8 | kind);
    le64_put(group, sum_of(group + 8, JGROUP_BYTES - 8 + len, k->k));
}

bool jgroup_next(const struct jgroup *g, uint32_t *pos, struct jrecord *out)
{
    uint32_t word;

    if (g->len - *pos < JRECORD_BYTES)
        return false;
    word = le32_get(g->body + *pos);
    if (g->len - *pos - JRECORD_BYTES < word >> 8)
        return false;
    out->type = (uint8_t)word;
    out->len = word >> 8;
    out->p = g->body + *pos + JRECORD_BYTES;
    *pos += JRECORD_BYTES + out->len;
    return true;
}

/* A sum that fits over records that do not: written by a bug; as bad as a wrong sum. */
static bool records_fit(const struct jgroup *g)
{
    struct jrecord r;
    uint32_t pos = 0, n = 0;

    while (jgroup_next(g, &pos, &r))
        n++;
    return pos == g->len && n == g->count;
}

int jreader_open(struct jreader *r, struct disk *d, const char *name, struct err *e)
{
    int64_t size;

    memset(r, 0, sizeof(*r));
    r->d = d;
    r->h = d->ops->open(d, name, DISK_READ);
    if (r->h < 0)
        return err_set(e, SQ_ESYS, "open %s: %s", name, strerror(-r->h));
    size = d->ops->size(d, r->h);
    if (size < 0) {
        jreader_close(r);
        return err_set(e, SQ_ESYS, "size of %s: %s", name, strerror((int)-size));
    }
    r->size = (uint64_t)size;
    return 0;
}

void jreader_close(struct jreader *r)
{
    if (r->h >= 0)
        r->d->ops->close(r->d, r->h);
    r->h = -1;
    free(r->win);
    r->win = NULL;
}

static int window_fill(struct jreader *r, uint64_t at, size_t n, struct err *e)
{
    r->win_at = at;
    r->win_len = 0;
    while (r->win_len < n) {
        ssize_t k = r->d->ops->pread(r->d, r->h, r->win + r->win_len, n - r->win_len,
                                     at + r->win_len);

        if (k == -EINTR)
            continue;
        if (k <= 0)
            return err_set(e, SQ_ESYS, "read at %llu: %s", (unsigned long long)at,
                           k == 0 ? "the file became shorter" : strerror((int)-k));
        r->win_len += (size_t)k;
    }
    return 0;
}

int jreader_get(struct jreader *r, uint64_t at, size_t n, const uint8_t **p, struct err *e)
{
    int rc;

    if (at < r->win_at || at + n > r->win_at + r->win_len) {
        size_t want = u64_max(n, u64_min(WINDOW_BYTES, r->size - at));

        if (want > r->win_cap) {
            uint8_t *win = realloc(r->win, want);

            if (win == NULL)
                return err_set(e, SQ_ENOMEM, "%s", sq_strerror(SQ_ENOMEM));
            r->win = win;
            r->win_cap = want;
        }
        rc = window_fill(r, at, u64_min(want, r->size - at), e);
        if (rc < 0)
            return rc;
    }
    *p = r->win + (at - r->win_at);
    return 0;
}

int jreader_group(struct jreader *r, const struct jkey *k, uint64_t at, struct jgroup *g,
                  struct err *e)
{
    const uint8_t *p;
    uint32_t word;
    int rc;

    if (r->size < at || r->size - at < JGROUP_BYTES)
        return 0;
    rc = jreader_get(r, at, JGROUP_BYTES, &p, e);
    if (rc < 0)
        return rc;
    g->at = le64_get(p + 8);
    g->synced = le64_get(p + 16);
    g->len = le32_get(p + 24);
    word = le32_get(p + 28);
    g->count = word >> 8;
    g->kind = (uint8_t)word;
    if (g->at != at || g->kind > JG_CLOSED || g->len > JGROUP_MAX ||
        g->len > r->size - at - JGROUP_BYTES)
        return 0;
    rc = jreader_get(r, at, JGROUP_BYTES + g->len, &p, e);
    if (rc < 0)
        return rc;
    g->body = p + JGROUP_BYTES;
    return le64_get(p) == sum_of(p + 8, JGROUP_BYTES - 8 + g->len, k->k) && records_fit(g);
}

int jreader_find(struct jreader *r, const struct jkey *k, uint64_t at, struct jgroup *g,
                 struct err *e)
{
    for (; at + JGROUP_BYTES <= r->size; at++) {
        const uint8_t *p;
        int rc = jreader_get(r, at, JGROUP_BYTES, &p, e);

        if (rc < 0)
            return rc;
        if (le64_get(p + 8) != at)
            continue;
        rc = jreader_group(r, k, at, g, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int jreader_is_zero(struct jreader *r, uint64_t at, struct err *e)
{
    while (at < r->size) {
        size_t n = u64_min(4096, r->size - at);
        const uint8_t *p;
        int rc = jreader_get(r, at, n, &p, e);

        if (rc < 0)
            return rc;
        if (p[0] != 0 || memcmp(p, p + 1, n - 1) != 0)
            return 0;
        at += n;
    }
    return 1;
}

int jreader_tail(struct jreader *r, const struct jkey *k, uint64_t at, struct err *e)
{
    struct jgroup g = { .at = at, .len = 0 };
    int rc = jreader_is_zero(r, at, e);

    if (rc != 0)
        return rc < 0 ? rc : JTAIL_ZEROS;
    for (uint64_t next = at + 1;; next = g.at + JGROUP_BYTES + g.len) {
        rc = jreader_find(r, k, next, &g, e);
        if (rc <= 0)
            return rc < 0 ? rc : JTAIL_TORN;
        if (g.synced > at)
            return JTAIL_DAMAGE;
    }
}
