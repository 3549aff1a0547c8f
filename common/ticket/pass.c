/* pass.c: makes the JWT by hand (the bytes must always be the same), reads it with
 * jansson (it may have been made by others). */
#include "common/ticket/pass.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/json.h"

bool bound_htm_ok(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return n > 0 && n <= BOUND_HTM_MAX && s[n] == '\0';
}

/* Nothing that a server could read in another way, or that JSON would escape. */
bool bound_htu_ok(const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/";
    size_t n = strspn(s, plain);

    return s[0] == '/' && n <= BOUND_HTU_MAX && s[n] == '\0' && strstr(s, "//") == NULL &&
           strstr(s, "/.") == NULL;
}

/* False: it is there, and unfit. */
static bool take_text(char *to, const json_t *m, bool (*ok)(const char *))
{
    const char *s = json_string_value(m);

    if (m == NULL)
        return true;
    if (s == NULL || !ok(s))
        return false;
    strcpy(to, s); /* fits, says ok() */
    return true;
}

const char *bound_take(struct bound *b, const json_t *o)
{
    const json_t *use = json_object_get(o, "use");

    *b = (struct bound){ .once = use != NULL };
    if (!take_text(b->htm, json_object_get(o, "htm"), bound_htm_ok))
        return "htm must be a method in 1 to 16 capital letters";
    if (!take_text(b->htu, json_object_get(o, "htu"), bound_htu_ok))
        return "htu must be a path of 1 to 100 characters, without escapes, dots or a query";
    if (use != NULL && (!json_is_string(use) || strcmp(json_string_value(use), "once") != 0))
        return "use can only be \"once\"";
    return NULL;
}

size_t bound_write(const struct bound *b, char out[BOUND_MAX])
{
    size_t m = strlen(b->htm), u = strlen(b->htu), d = strlen(b->device);

    if (bound_is_none(b) && d == 0)
        return 0;
    out[0] = b->once ? '1' : '-';
    memcpy(out + 1, b->htm, m);
    out[1 + m] = ' ';
    memcpy(out + 2 + m, b->htu, u);
    if (d == 0)
        return 2 + m + u;
    out[2 + m + u] = ' ';
    memcpy(out + 3 + m + u, b->device, d);
    return 3 + m + u + d;
}

/* Takes the device off the end; false: what stands there is none. */
static bool read_device(struct bound *b, const char *blank, const char *p, size_t *n)
{
    const char *end = blank != NULL ? memchr(blank + 1, ' ', (size_t)(p + *n - blank - 1)) : NULL;

    if (end == NULL)
        return true;
    if (!device_text_ok(end + 1, (size_t)(p + *n - end - 1)))
        return false;
    memcpy(b->device, end + 1, DEVICE_LEN);
    *n = (size_t)(end - p);
    return true;
}

bool bound_read(struct bound *b, const char *p, size_t n)
{
    const char *blank = n > 1 ? memchr(p + 1, ' ', n - 1) : NULL;
    size_t m = blank != NULL ? (size_t)(blank - p - 1) : 0, u;

    *b = (struct bound){ 0 };
    if (!read_device(b, blank, p, &n))
        return false;
    u = n - m - 2;
    if (blank == NULL || (p[0] != '1' && p[0] != '-') || m > BOUND_HTM_MAX || u > BOUND_HTU_MAX)
        return false;
    b->once = p[0] == '1';
    memcpy(b->htm, p + 1, m);
    memcpy(b->htu, blank + 1, u);
    return (m == 0 || bound_htm_ok(b->htm)) && (u == 0 || bound_htu_ok(b->htu));
}

void device_id(const char secret[DEVICE_LEN], char out[DEVICE_LEN + 1])
{
    uint8_t hash[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(hash, (const uint8_t *)secret, DEVICE_LEN);
    sodium_bin2base64(out, DEVICE_LEN + 1, hash, 16, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool device_text_ok(const char *s, size_t n)
{
    uint8_t raw[16];
    size_t len;

    return n == DEVICE_LEN && sodium_base642bin(raw, sizeof(raw), s, n, NULL, &len, NULL,
                                                sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           len == sizeof(raw);
}

/* ---- tickets that another device may take over ---- */

#define MOVED_LINE_MAX 80

/* Reads a line; false: it is none. */
static bool read_line(const char *s, struct moved_ticket *x)
{
    unsigned long long seg, until;
    char device[1 + DEVICE_LEN + 1];
    unsigned number;
    size_t n;

    if (sscanf(s, "%20llu-%10u %18llu %23s", &seg, &number, &until, device) != 4)
        return false;
    n = strlen(device);
    *x = (struct moved_ticket){ .seg = seg, .number = number, .until_s = (int64_t)until,
                                .open = n == 1 || n > DEVICE_LEN }; /* an id may begin with a '-', too */
    memcpy(x->device, device + x->open, n + 1 - x->open);
    return true;
}

bool moved_find(const char *text, seg_id seg, uint32_t number, struct moved_ticket *out)
{
    char key[40];
    int n = snprintf(key, sizeof(key), "%llu-%u ", (unsigned long long)seg, number);

    for (const char *at = text; at != NULL && *at != '\0'; at += *at == '\n') {
        if (strncmp(at, key, (size_t)n) == 0)
            return read_line(at, out);
        at += strcspn(at, "\n");
    }
    return false;
}

static int write_line(char *to, const struct moved_ticket *x)
{
    return snprintf(to, MOVED_LINE_MAX, "%llu-%u %lld %s%s\n", (unsigned long long)x->seg, x->number,
                    (long long)x->until_s, x->open ? "-" : "", x->device);
}

/* The device that has it keeps it when nobody comes. */
static bool is_over(const struct moved_ticket *x, int64_t now_s)
{
    return x->until_s + (x->open && x->device[0] != '\0' ? MOVED_KEEP_S : 0) <= now_s;
}

int moved_put(char **text, const struct moved_ticket *x, int64_t now_s)
{
    size_t cap = (*text != NULL ? strlen(*text) : 0) + MOVED_LINE_MAX + 1, n = 0;
    char *to = malloc(cap);
    unsigned lines = 1;
    struct moved_ticket was;

    if (to == NULL)
        return SQ_ENOMEM;
    for (const char *at = *text; at != NULL && *at != '\0'; at += *at == '\n') {
        if (read_line(at, &was) && !is_over(&was, now_s) && (was.seg != x->seg || was.number != x->number)) {
            n += (size_t)write_line(to + n, &was);
            lines++;
        }
        at += strcspn(at, "\n");
    }
    if (lines > MOVED_MAX) {
        free(to);
        return SQ_EFULL;
    }
    write_line(to + n, x);
    free(*text);
    *text = to;
    return 0;
}

/* ---- the pass --------------------------------------------------------------------- */

#define PAYLOAD_MAX 1100
#define HEADER_MAX  256
#define SIG_BYTES   crypto_sign_BYTES
#define SIG_TEXT    86 /* base64 of the signature, without padding */
#define B64         sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(SIG_TEXT == (SIG_BYTES * 8 + 5) / 6, "signature size");

struct json_out { /* text being written; `full` sticks */
    char text[PAYLOAD_MAX];
    size_t len;
    bool full;
};

void pass_kid(const uint8_t public[32], char out[12])
{
    uint8_t hash[crypto_generichash_BYTES_MIN];

    /* 64 bits of a hash tell keys apart; they need not resist anybody */
    crypto_generichash(hash, sizeof(hash), public, 32, NULL, 0);
    sodium_bin2base64(out, 12, hash, 8, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static void put(struct json_out *o, const char *s, size_t n)
{
    if (o->full || n > sizeof(o->text) - o->len) {
        o->full = true;
        return;
    }
    memcpy(o->text + o->len, s, n);
    o->len += n;
}

static void put_str(struct json_out *o, const char *s)
{
    put(o, s, strlen(s));
}

static void put_quoted(struct json_out *o, const char *s, size_t n)
{
    char esc[8];

    put(o, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c == '"' || c == '\\') {
            put(o, "\\", 1);
            put(o, s + i, 1);
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(esc, sizeof(esc), "\\u%04x", c);
            put(o, esc, 6);
        } else {
            put(o, s + i, 1);
        }
    }
    put(o, "\"", 1);
}

static void put_num(struct json_out *o, const char *name, int64_t v)
{
    char s[64];

    snprintf(s, sizeof(s), ",\"%s\":%" PRId64, name, v);
    put_str(o, s);
}

static void put_bound(struct json_out *o, const struct bound *b)
{
    if (b->htm[0] != '\0') {
        put_str(o, ",\"htm\":");
        put_quoted(o, b->htm, strlen(b->htm));
    }
    if (b->htu[0] != '\0') {
        put_str(o, ",\"htu\":");
        put_quoted(o, b->htu, strlen(b->htu));
    }
    if (b->once)
        put_str(o, ",\"use\":\"once\"");
    if (b->device[0] != '\0') {
        put_str(o, ",\"cnf\":{\"segq_device\":");
        put_quoted(o, b->device, strlen(b->device));
        put_str(o, "}");
    }
}

static void payload(struct json_out *o, const struct pass_claims *c)
{
    char id[40];

    snprintf(id, sizeof(id), "%" PRIu64 "-%" PRIu32, c->seg, c->number);
    put_str(o, "{\"iss\":");
    put_quoted(o, c->iss, strlen(c->iss));
    put_str(o, ",\"aud\":");
    put_quoted(o, c->aud, strlen(c->aud));
    put_str(o, ",\"sub\":");
    put_quoted(o, c->sub != NULL ? c->sub : id, c->sub != NULL ? c->sub_len : strlen(id));
    put_str(o, ",\"jti\":");
    put_quoted(o, id, strlen(id));
    put_num(o, "iat", c->iat_s);
    put_num(o, "nbf", c->iat_s);
    put_num(o, "exp", c->exp_s);
    put_str(o, ",\"lane\":");
    put_quoted(o, c->lane, strlen(c->lane));
    if (c->bound != NULL)
        put_bound(o, c->bound);
    put_str(o, "}");
}

/* Appends n bytes as base64; false if it (and libsodium's final 0) does not fit. */
static bool put_b64(char *out, size_t cap, size_t *len, const void *p, size_t n)
{
    size_t need = sodium_base64_encoded_len(n, B64); /* with the 0 */

    assert(*len <= cap);
    if (need > cap - *len)
        return false;
    sodium_bin2base64(out + *len, need, p, n, B64);
    *len += need - 1;
    return true;
}

int pass_make(const struct pass_claims *c, const struct pass_key *k, char *out, size_t cap)
{
    struct json_out body = { .len = 0 };
    char head[HEADER_MAX], kid[12], sig_text[SIG_TEXT + 1];
    uint8_t sig[SIG_BYTES];
    size_t len = 0;
    int n;

    payload(&body, c);
    if (body.full)
        return SQ_ETOOBIG;
    pass_kid(k->public, kid);
    n = snprintf(head, sizeof(head), "{\"alg\":\"EdDSA\",\"typ\":\"JWT\",\"kid\":\"%s\"}", kid);
    assert(n > 0 && (size_t)n < sizeof(head));
    if (!put_b64(out, cap, &len, head, (size_t)n) || len == cap)
        return SQ_ETOOBIG;
    out[len++] = '.';
    if (!put_b64(out, cap, &len, body.text, body.len) || len + 1 + SIG_TEXT > cap)
        return SQ_ETOOBIG;
    crypto_sign_detached(sig, NULL, (const uint8_t *)out, len, k->secret);
    out[len++] = '.';
    sodium_bin2base64(sig_text, sizeof(sig_text), sig, sizeof(sig), B64);
    memcpy(out + len, sig_text, SIG_TEXT); /* without the 0: cap may end here */
    return (int)(len + SIG_TEXT);
}

/* Reads a part, canonical base64 only. Length, or SQ_EINVAL. */
static int decode_part(uint8_t *out, size_t cap, const char *s, size_t n)
{
    size_t len = 0;

    if (sodium_base642bin(out, cap, s, n, NULL, &len, NULL, B64) != 0)
        return SQ_EINVAL;
    return (int)len;
}

static json_t *parse_object(const void *p, int n)
{
    json_t *o = n < 0 ? NULL : json_in(p, (size_t)n, NULL);

    if (o != NULL && !json_is_object(o)) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* Only our algorithm: a header never chooses how it is checked. kid may be absent. */
static int read_header(const char *s, size_t n, char *kid, size_t cap)
{
    uint8_t raw[HEADER_MAX];
    json_t *o = parse_object(raw, decode_part(raw, sizeof(raw), s, n));
    const char *alg = json_string_value(json_object_get(o, "alg"));
    const char *id = json_string_value(json_object_get(o, "kid"));
    int rc = SQ_EINVAL;

    /* "crit": extensions that must be understood, and we understand none */
    if (alg != NULL && strcmp(alg, "EdDSA") == 0 && json_object_get(o, "crit") == NULL)
        rc = 0;
    snprintf(kid, cap, "%s", id != NULL ? id : "");
    json_decref(o);
    return rc;
}

/* The key that kid names; if it names none of ours, each may have been meant. */
static int check_signature(const char *jwt, size_t signed_len, const uint8_t *sig,
                           const char *kid, const uint8_t (*keys)[32], size_t n_keys)
{
    bool named = false;
    char id[12];

    for (int pass = 0; pass < 2 && !named; pass++)
        for (size_t i = 0; i < n_keys; i++) {
            pass_kid(keys[i], id);
            if (pass == 0 && strcmp(id, kid) != 0)
                continue;
            named = named || pass == 0;
            if (crypto_sign_verify_detached(sig, (const uint8_t *)jwt, signed_len,
                                            keys[i]) == 0)
                return 0;
        }
    return SQ_EAUTH;
}

/* A string member, copied to the store; "" if absent; NULL if it is something else. */
static const char *take_str(struct pass_view *v, size_t *used, json_t *o, const char *name)
{
    json_t *m = json_object_get(o, name);
    const char *s = json_string_value(m);
    size_t n = s != NULL ? strlen(s) : 0;
    char *to = v->store + *used;

    if ((m != NULL && s == NULL) || n + 1 > sizeof(v->store) - *used)
        return NULL;
    assert(*used <= sizeof(v->store));
    memcpy(to, s != NULL ? s : "", n + 1);
    *used += n + 1;
    return to;
}

/* A time: a number of seconds, perhaps with a fraction. False if it is anything else. */
static bool take_time(json_t *o, const char *name, int64_t absent, int64_t *out)
{
    json_t *m = json_object_get(o, name);

    if (m == NULL)
        *out = absent;
    else if (json_is_integer(m))
        *out = json_integer_value(m);
    else if (json_is_real(m) && json_real_value(m) > -1e15 && json_real_value(m) < 1e15)
        *out = (int64_t)json_real_value(m);
    else
        return false;
    return true;
}

/* A confirmation that is not understood opens nothing (RFC 7800, section 3.1). */
static bool take_device(char to[DEVICE_LEN + 1], const json_t *cnf)
{
    const char *id = json_string_value(json_object_get(cnf, "segq_device"));

    if (cnf == NULL)
        return true;
    if (json_object_size(cnf) != 1 || id == NULL || !device_text_ok(id, strlen(id)))
        return false;
    strcpy(to, id);
    return true;
}

static int read_claims(struct pass_view *v, const char *s, size_t n)
{
    uint8_t raw[PAYLOAD_MAX];
    json_t *o = parse_object(raw, decode_part(raw, sizeof(raw), s, n));
    size_t used = 0;
    bool good;

    if (o == NULL)
        return SQ_EINVAL;
    good = (v->iss = take_str(v, &used, o, "iss")) != NULL &&
           (v->aud = take_str(v, &used, o, "aud")) != NULL &&
           (v->sub = take_str(v, &used, o, "sub")) != NULL &&
           (v->jti = take_str(v, &used, o, "jti")) != NULL &&
           (v->lane = take_str(v, &used, o, "lane")) != NULL &&
           take_time(o, "iat", 0, &v->iat_s) && take_time(o, "nbf", v->iat_s, &v->nbf_s) &&
           take_time(o, "exp", 0, &v->exp_s) && /* without one it has expired */
           bound_take(&v->bound, o) == NULL && /* a binding that is not understood opens nothing */
           take_device(v->bound.device, json_object_get(o, "cnf"));
    v->is_bound = !bound_is_none(&v->bound);
    json_decref(o);
    return good ? 0 : SQ_EINVAL;
}

int pass_check(struct pass_view *v, const char *jwt, size_t n, const uint8_t (*keys)[32],
               size_t n_keys)
{
    const char *dot1 = memchr(jwt, '.', n), *dot2, *end = jwt + n;
    uint8_t sig[SIG_BYTES];
    char kid[64];
    int rc;

    memset(v, 0, sizeof(*v));
    dot2 = dot1 == NULL ? NULL : memchr(dot1 + 1, '.', (size_t)(end - dot1 - 1));
    if (dot2 == NULL || end - dot2 - 1 != SIG_TEXT)
        return SQ_EINVAL;
    if (decode_part(sig, sizeof(sig), dot2 + 1, SIG_TEXT) != (int)sizeof(sig) ||
        read_header(jwt, (size_t)(dot1 - jwt), kid, sizeof(kid)) < 0)
        return SQ_EINVAL;
    rc = check_signature(jwt, (size_t)(dot2 - jwt), sig, kid, keys, n_keys);
    if (rc < 0)
        return rc;
    return read_claims(v, dot1 + 1, (size_t)(dot2 - dot1 - 1));
}
