/* challenge.c: see challenge.h. */
#include "router/gate/challenge.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/json/json_scan.h"

/* ---- puzzles: nonce, salt and counter are MACs of rank, second and place under the secret ---- */

struct made {
    uint64_t second; /* 0: none */
    struct puzzle of;
};

struct puzzles {
    struct hmac256 secret;
    struct made *rank[PUZZLE_RANKS]; /* owned; NULL: nobody has asked for it yet */
    uint64_t made;
};

struct puzzles *puzzles_new(const uint8_t secret[32])
{
    struct puzzles *p = calloc(1, sizeof(*p));

    if (p != NULL)
        hmac256_key(&p->secret, secret, 32);
    return p;
}

void puzzles_free(struct puzzles *p)
{
    for (unsigned i = 0; p != NULL && i < PUZZLE_RANKS; i++)
        free(p->rank[i]);
    free(p);
}

uint64_t puzzles_made(const struct puzzles *p)
{
    return p->made;
}

unsigned puzzle_rank(uint64_t keys)
{
    unsigned rank = 0;

    while (rank < PUZZLE_RANKS - 1 && (uint64_t)PUZZLE_KEYS_MIN << rank < keys)
        rank++;
    return rank;
}

static void draw(uint8_t out[HMAC256_BYTES], const struct puzzles *p, unsigned rank, uint64_t second,
                 uint32_t place, uint8_t what)
{
    uint8_t text[14];

    memcpy(text, &second, 8);
    memcpy(text + 8, &place, 4);
    text[12] = (uint8_t)rank;
    text[13] = what;
    hmac256_of(out, &p->secret, text, sizeof(text));
}

/* The counter of the puzzle at a place. */
static uint32_t counter_of(const struct puzzles *p, unsigned rank, uint64_t second, uint32_t place)
{
    uint8_t mac[HMAC256_BYTES];
    uint32_t v;

    draw(mac, p, rank, second, place % PUZZLES, 'c');
    memcpy(&v, mac, sizeof(v));
    return v & ((PUZZLE_KEYS_MIN << rank) - 1);
}

static void make(struct puzzle *to, const struct puzzles *p, unsigned rank, uint64_t second, uint32_t place)
{
    uint32_t counter = __builtin_bswap32(counter_of(p, rank, second, place));
    uint8_t password[sizeof(to->nonce) + 4], mac[HMAC256_BYTES];

    draw(mac, p, rank, second, place, 'n');
    memcpy(to->nonce, mac, sizeof(to->nonce));
    memcpy(to->salt, mac + sizeof(to->nonce), sizeof(to->salt));
    memcpy(password, to->nonce, sizeof(to->nonce));
    memcpy(password + sizeof(to->nonce), &counter, 4);
    pbkdf2_256(to->key, password, sizeof(password), to->salt, sizeof(to->salt), CHALLENGE_ROUNDS);
}

const struct puzzle *puzzles_get(struct puzzles *p, unsigned rank, uint64_t second, uint32_t place)
{
    struct made *m;

    assert(rank < PUZZLE_RANKS && second != 0);
    place %= PUZZLES;
    if (p->rank[rank] == NULL)
        p->rank[rank] = calloc(PUZZLES, sizeof(*m));
    if (p->rank[rank] == NULL)
        return NULL;
    m = &p->rank[rank][place];
    if (m->second != second) {
        make(&m->of, p, rank, second, place);
        m->second = second;
        p->made++;
    }
    return &m->of;
}

/* ---- keys ---- */

#define HEX_KEY   64 /* characters of 32 bytes */
#define HEX_HALF  32
#define HEX_HASH  16
#define DIGITS_MAX 12
#define SIGNED_MAX 640

static const char algorithm[] = "PBKDF2/SHA-256";

void challenge_key_make(struct challenge_key *k, const uint8_t secret[32])
{
    struct hmac256 root;
    uint8_t sub[HMAC256_BYTES];

    hmac256_key(&root, secret, 32);
    hmac256_of(sub, &root, "text", 4);
    hmac256_key(&k->text, sub, sizeof(sub));
    hmac256_of(sub, &root, "work", 4);
    hmac256_key(&k->work, sub, sizeof(sub));
    sodium_memzero(sub, sizeof(sub));
    sodium_memzero(&root, sizeof(root));
}

/* ---- parameters, as they are signed ---- */

struct parameters { /* slices of digits, hex, and a queue's name: nothing of JSON in them */
    struct slice algorithm, cost, expires, length, prefix, key_mac, nonce, salt;
    struct slice from, id, queue, who;
};

/* By the names of the members, so that "sorted" holds by the eye. */
static size_t write_signed(char out[SIGNED_MAX], const struct parameters *p)
{
    char *to = out;

#define MEMBER(before, field) to = text_put(PUT(to, before), p->field.p, p->field.n)
    MEMBER("{\"algorithm\":\"", algorithm);
    MEMBER("\",\"cost\":", cost);
    MEMBER(",\"data\":{\"from\":\"", from);
    MEMBER("\",\"id\":\"", id);
    MEMBER("\",\"queue\":\"", queue);
    MEMBER("\",\"who\":\"", who);
    MEMBER("\"},\"expiresAt\":", expires);
    MEMBER(",\"keyLength\":", length);
    MEMBER(",\"keyPrefix\":\"", prefix);
    MEMBER("\",\"keySignature\":\"", key_mac);
    MEMBER("\",\"nonce\":\"", nonce);
    MEMBER("\",\"salt\":\"", salt);
#undef MEMBER
    to = PUT(to, "\"}");
    assert((size_t)(to - out) <= SIGNED_MAX);
    return (size_t)(to - out);
}

static char *hex_bytes(char *to, const uint8_t *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *to++ = digits[p[i] >> 4];
        *to++ = digits[p[i] & 15];
    }
    return to;
}

static void mac_hex(char out[HEX_KEY], const struct hmac256 *k, const void *p, size_t n)
{
    uint8_t mac[HMAC256_BYTES];

    hmac256_of(mac, k, p, n);
    hex_bytes(out, mac, sizeof(mac));
}

size_t challenge_write(char out[CHALLENGE_TEXT_MAX], const struct challenge_key *k,
                       const struct challenge_terms *t, const char *id, const struct puzzle *p,
                       int64_t expires_s)
{
    char from[HEX_HASH], who[HEX_HASH], mac[HEX_KEY], nonce[HEX_HALF], salt[HEX_HALF], prefix[HEX_HALF];
    char cost[DECIMAL_ROOM], expires[DECIMAL_ROOM], signature[HEX_KEY], *to = out;
    struct parameters x = { .algorithm = { (char *)(uintptr_t)algorithm, sizeof(algorithm) - 1 },
                            .length = { (char *)(uintptr_t)"32", 2 },
                            .prefix = { prefix, sizeof(prefix) }, .key_mac = { mac, sizeof(mac) },
                            .nonce = { nonce, sizeof(nonce) }, .salt = { salt, sizeof(salt) },
                            .from = { from, sizeof(from) }, .who = { who, sizeof(who) },
                            .id = { (char *)(uintptr_t)id, CHALLENGE_ID_LEN },
                            .queue = { (char *)(uintptr_t)t->queue, strlen(t->queue) } };
    size_t n;

    hex_put(from, t->from);
    hex_put(who, t->who);
    hex_bytes(nonce, p->nonce, sizeof(p->nonce));
    hex_bytes(salt, p->salt, sizeof(p->salt));
    hex_bytes(prefix, p->key, sizeof(p->key) / 2);
    mac_hex(mac, &k->work, p->key, sizeof(p->key));
    x.cost = (struct slice){ cost, (size_t)(text_u64(cost, CHALLENGE_ROUNDS) - cost) };
    x.expires = (struct slice){ expires, (size_t)(text_u64(expires, (uint64_t)expires_s) - expires) };
    to = PUT(to, "{\"parameters\":");
    n = write_signed(to, &x);
    mac_hex(signature, &k->text, to, n);
    to += n;
    to = PUT(to, ",\"signature\":\"");
    to = text_put(to, signature, sizeof(signature));
    to = PUT(to, "\"}");
    assert(to - out <= CHALLENGE_TEXT_MAX);
    return (size_t)(to - out);
}

/* ---- an answer ---- */

static bool is_hex(struct slice s, size_t n)
{
    bool ok = s.p != NULL && s.n == n;

    for (size_t i = 0; ok && i < n; i++)
        ok = (s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f');
    return ok;
}

static bool is_digits(struct slice s)
{
    return s.n <= DIGITS_MAX && decimal_read(s.p, s.n, UINT64_MAX) >= 0;
}

static uint64_t hash_of(struct slice hex)
{
    uint64_t v = 0;

    for (size_t i = 0; i < hex.n; i++)
        v = v << 4 | (uint64_t)(hex.p[i] <= '9' ? hex.p[i] - '0' : hex.p[i] - 'a' + 10);
    return v;
}

/* Tells whether each text is as we write it, so that the same members have one form only. */
static bool has_form(const struct parameters *p)
{
    return slice_is(p->algorithm, algorithm) && is_digits(p->cost) && is_digits(p->expires) &&
           is_digits(p->length) && is_hex(p->prefix, HEX_HALF) && is_hex(p->key_mac, HEX_KEY) &&
           is_hex(p->nonce, HEX_HALF) && is_hex(p->salt, HEX_HALF) && is_hex(p->from, HEX_HASH) &&
           is_hex(p->id, CHALLENGE_ID_LEN) && is_hex(p->who, HEX_HASH) && p->queue.p != NULL &&
           p->queue.n <= NAME_MAX_LEN;
}

struct reading {
    struct parameters p;
    struct slice signature, derived;
};

struct member {
    const char *name;
    size_t offset; /* place of a slice in struct reading; or */
    const struct member *sub; /* members within it */
};

#define AT(field) offsetof(struct reading, field), NULL
static const struct member in_data[] = {
    { "from", AT(p.from) }, { "id", AT(p.id) }, { "queue", AT(p.queue) }, { "who", AT(p.who) }, { 0 }
};
static const struct member in_parameters[] = {
    { "algorithm", AT(p.algorithm) }, { "cost", AT(p.cost) }, { "data", 0, in_data },
    { "expiresAt", AT(p.expires) }, { "keyLength", AT(p.length) }, { "keyPrefix", AT(p.prefix) },
    { "keySignature", AT(p.key_mac) }, { "nonce", AT(p.nonce) }, { "salt", AT(p.salt) }, { 0 }
};
static const struct member in_challenge[] = {
    { "parameters", 0, in_parameters }, { "signature", AT(signature) }, { 0 }
};
static const struct member in_solution[] = { { "derivedKey", AT(derived) }, { 0 } };
static const struct member in_answer[] = {
    { "challenge", 0, in_challenge }, { "solution", 0, in_solution }, { 0 }
};
#undef AT

static const struct member *find(const struct member *v, struct slice name)
{
    for (; v->name != NULL; v++)
        if (slice_is(name, v->name))
            return v;
    return NULL;
}

/* Four levels at most: the tables say so. */
static void read_object(struct json_scan *s, const struct member *v, struct reading *to)
{
    struct slice name, raw;
    bool first = true;

    if (!json_scan_enter(s, '{'))
        return;
    while (json_scan_member(s, &first, &name)) {
        const struct member *m = find(v, name);

        if (m != NULL && m->sub != NULL && json_scan_peek(s) == '{')
            read_object(s, m->sub, to);
        else if (m != NULL && m->sub == NULL && json_scan_peek(s) == '"')
            (void)!json_scan_text(s, (struct slice *)(void *)((char *)to + m->offset));
        else if (json_scan_value(s, &raw) && m != NULL && m->sub == NULL)
            *(struct slice *)(void *)((char *)to + m->offset) = raw;
        if (s->why != NULL)
            return;
    }
}

/* Values, and 1, of each character from '+' to 'z' of base64, of both alphabets; 0: none. */
static const uint8_t values[80] = {
    63, 0, 63, 0, 64, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 0,
    0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    0, 0, 0, 0, 64, 0, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36,
    37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
};

/* Padded or not: how many bytes; -1: it is no base64. */
static int64_t decode(char *out, const char *p, size_t n)
{
    uint32_t bits = 0;
    size_t at = 0;

    while (n > 0 && p[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)(p[i] - '+'), v = c < sizeof(values) ? values[c] : 0;

        if (v == 0)
            return -1;
        bits = bits << 6 | (uint32_t)(v - 1);
        if ((i & 3) != 0)
            out[at++] = (char)(bits >> (6 - 2 * (i & 3)));
    }
    return (n & 3) == 1 ? -1 : (int64_t)at;
}

/* NULL: it is not signed with ours. */
static const struct challenge_key *signer(const struct challenge_keys *k, const struct reading *x)
{
    char text[SIGNED_MAX], mac[HEX_KEY];
    size_t n;

    if (!has_form(&x->p) || !is_hex(x->signature, HEX_KEY))
        return NULL;
    n = write_signed(text, &x->p);
    mac_hex(mac, &k->first.text, text, n);
    if (sodium_memcmp(mac, x->signature.p, sizeof(mac)) == 0)
        return &k->first;
    if (!k->has_other)
        return NULL;
    mac_hex(mac, &k->other.text, text, n);
    return sodium_memcmp(mac, x->signature.p, sizeof(mac)) == 0 ? &k->other : NULL;
}

static bool is_solved(const struct challenge_key *k, const struct reading *x)
{
    uint8_t key[HMAC256_BYTES];
    char mac[HEX_KEY];

    if (!is_hex(x->derived, HEX_KEY))
        return false;
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)hash_of((struct slice){ x->derived.p + 2 * i, 2 });
    mac_hex(mac, &k->work, key, sizeof(key));
    return sodium_memcmp(mac, x->p.key_mac.p, sizeof(mac)) == 0;
}

enum challenge_state challenge_check(const struct challenge_keys *k, const struct challenge_terms *t,
                                     const char *answer, size_t n, int64_t now_s,
                                     struct challenge_seen *of)
{
    char text[CHALLENGE_ANSWER_MAX];
    int64_t len = n > 0 && n <= CHALLENGE_ANSWER_MAX ? decode(text, answer, n) : -1;
    const struct challenge_key *by;
    struct reading x = { 0 };
    struct json_scan s;

    if (len < 0)
        return CHALLENGE_INVALID;
    json_scan_init(&s, (struct slice){ text, (size_t)len });
    read_object(&s, in_answer, &x);
    if (!json_scan_ends(&s) || (by = signer(k, &x)) == NULL)
        return CHALLENGE_INVALID;
    memcpy(of->id, x.p.id.p, CHALLENGE_ID_LEN);
    of->id[CHALLENGE_ID_LEN] = '\0';
    of->end_s = decimal_read(x.p.expires.p, x.p.expires.n, UINT64_MAX);
    if (of->end_s <= now_s || of->end_s > now_s + CHALLENGE_LIFE_S + CHALLENGE_LEEWAY_S)
        return CHALLENGE_EXPIRED;
    if (!slice_is(x.p.queue, t->queue))
        return CHALLENGE_OTHER_QUEUE;
    if (hash_of(x.p.from) != (by == &k->first ? t->from : t->other_from))
        return CHALLENGE_OTHER_ADDRESS;
    if (hash_of(x.p.who) != (by == &k->first ? t->who : t->other_who))
        return CHALLENGE_OTHER_JOIN;
    return is_solved(by, &x) ? CHALLENGE_GOOD : CHALLENGE_UNSOLVED;
}
