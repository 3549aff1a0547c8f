#include "common/journal/format.h"

#include <assert.h>
#include <sodium.h>

_Static_assert(crypto_shorthash_BYTES == 8, "sums are 64 bits");
_Static_assert(crypto_shorthash_KEYBYTES == sizeof(struct jkey), "keys are 128 bits");

static const char magic[8] = { 's', 'e', 'g', 'q', 'j', 'r', 'n', '\n' };
/* For the sums of heads and node names. A public constant: they guard against accidents only. */
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

bool jhead_parse(const uint8_t in[JHEAD_BYTES], struct jhead *h)
{
    if (memcmp(in, magic, sizeof(magic)) != 0 ||
        le64_get(in + 8) != sum_of(in + 16, JHEAD_BYTES - 16, fixed_key))
        return false;
    h->version = le32_get(in + 16);
    h->kind = (enum jkind)le32_get(in + 20);
    h->seq = le64_get(in + 24);
    h->created_ms = le64_get(in + 32);
    h->flags = le64_get(in + 40);
    memcpy(h->node, in + 48, NAME_MAX_LEN);
    h->node[NAME_MAX_LEN] = '\0';
    h->boot = le64_get(in + 112);
    return true;
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

bool jgroup_parse(const uint8_t *head, uint64_t at, uint64_t room, struct jgroup *g)
{
    uint32_t word = le32_get(head + 28);

    assert(room >= JGROUP_BYTES);
    g->at = le64_get(head + 8);
    g->synced = le64_get(head + 16);
    g->len = le32_get(head + 24);
    g->count = word >> 8;
    g->kind = (uint8_t)word;
    return g->at == at && g->kind <= JG_CLOSED && g->len <= JGROUP_MAX &&
           g->len <= room - JGROUP_BYTES;
}

bool jgroup_is_whole(const uint8_t *group, const struct jkey *k, const struct jgroup *g)
{
    assert(g->body == group + JGROUP_BYTES);
    return le64_get(group) == sum_of(group + 8, JGROUP_BYTES - 8 + g->len, k->k) &&
           records_fit(g);
}
