/* rules.c: ranges, defaults, bytes. */
#include "common/task/rules.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"

#define HOUR ((uint64_t)3600 * 1000)

void rules_default(struct task_rules *r)
{
    *r = (struct task_rules){
        .ttl_ms = 3 * HOUR, .result_ms = HOUR, .read_ms = HOUR / 12, .dead_ms = 7 * 24 * HOUR,
        .dedup_ms = 24 * HOUR, .lease_ms = 30000, .max_attempts = 8, .retry_min_ms = 1000,
        .retry_max_ms = 300000, .retry_doublings = 8, .retry_jitter = 20,
        .max_waiting = 10000000, .queue_burst = 1, .key_burst = 1, .below_burst = 1,
        .head_start_1 = 10000, .head_start_2 = 60000, .head_start_3 = 600000,
        .head_start_4 = HOUR, .head_start_5 = 3 * HOUR, .head_start_6 = 12 * HOUR,
        .head_start_7 = 24 * HOUR, .max_result = TASK_RESULT_MAX,
    };
}

const char *rules_check(const struct task_rules *r)
{
    const uint64_t *h = &r->head_start_1;
#define X(m, least, most)                                                                \
    if (r->m > (most) || r->m + 1 < (uint64_t)(least) + 1)                               \
        return #m;
    TASK_RULES(X)
#undef X
    if (r->retry_max_ms < r->retry_min_ms)
        return "retry_max_ms";
    for (unsigned p = 1; p < TASK_PRIORITIES - 1; p++)
        if (h[p] < h[p - 1])
            return "head_start";
    return NULL;
}

/* Later members that are 0 are left out at the end: a release that does not know them reads the rest. */
void rules_encode(const struct task_rules *r, struct buf *b)
{
    const uint64_t *m = (const uint64_t *)r;
    size_t n = sizeof(*r) / sizeof(*m), least = n - TASK_RULES_LATER;

    while (n > least && m[n - 1] == 0)
        n--;
    for (size_t i = 0; i < n; i++)
        buf_varint(b, m[i]);
}

int rules_decode(struct task_rules *r, const char *p, uint32_t n)
{
    const uint8_t *at = (const uint8_t *)p, *end = at + n;
    uint64_t *m = (uint64_t *)r, *last = m + sizeof(*r) / sizeof(*m);

    rules_default(r);
    while (at != NULL && at < end && m < last)
        at = varint_get_own(at, end, m++);
    return at == end && rules_check(r) == NULL ? 0 : SQ_EPROTO;
}

/* ---- a task's own: a text of labels, and numbers of which 0 says nothing ---- */

static const char *text_of(const struct task_own *o)
{
    return o->labels != NULL ? o->labels : "";
}

bool own_is_none(const struct task_own *o)
{
    uint64_t any = 0;
#define X(m, least, most) any |= o->m;
    TASK_OWN(X)
#undef X
    return any == 0 && text_of(o)[0] == 0;
}

bool label_ok(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] <= 0x20 || p[i] >= 0x7f || p[i] == ',')
            return false;
    return n > 0 && n <= LABEL_MAX;
}

static bool labels_ok(const char *p)
{
    unsigned n = 0;

    for (; *p != 0; n++) {
        size_t len = strcspn(p, ",");

        if (!label_ok(p, len) || (p[len] == ',' && p[len + 1] == 0))
            return false;
        p += len + (p[len] == ',');
    }
    return n <= LABELS_MAX;
}

bool own_ok(const struct task_own *o)
{
#define X(m, least, most)                                                                \
    if (o->m != 0 && (o->m - 1 > (most) || o->m < (uint64_t)(least) + 1))                \
        return false;
    TASK_OWN(X)
#undef X
    return labels_ok(text_of(o));
}

bool own_equal(const struct task_own *a, const struct task_own *b)
{
#define X(m, least, most)                                                                \
    if (a->m != b->m)                                                                    \
        return false;
    TASK_OWN(X)
#undef X
    return strcmp(text_of(a), text_of(b)) == 0;
}

void own_rules(const struct task_own *o, struct task_rules *r)
{
#define X(m, least, most)                                                                \
    if (o->m != 0)                                                                       \
        r->m = o->m - 1;
    TASK_OWN_RULES(X)
#undef X
    r->retry_max_ms = u64_max(r->retry_max_ms, r->retry_min_ms);
}

bool own_has_label(const struct task_own *o, const char *label, size_t n)
{
    for (const char *p = text_of(o); *p != 0; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && memcmp(p, label, n) == 0)
            return true;
    return false;
}

void own_encode(const struct task_own *o, struct buf *b)
{
    buf_varint(b, strlen(text_of(o)));
    buf_append(b, text_of(o), strlen(text_of(o)));
#define X(m, least, most) buf_varint(b, o->m);
    TASK_OWN_RULES(X)
#undef X
    if (o->cost != 0)
        buf_varint(b, o->cost);
}

int own_decode(struct task_own *o, char *labels, const char *p, uint32_t n)
{
    const uint8_t *at = (const uint8_t *)p, *end = at + n;
    uint64_t len;

    memset(o, 0, sizeof(*o));
    at = varint_get(at, end, &len);
    if (at == NULL || len > LABELS_TEXT_MAX || len > (size_t)(end - at) || memchr(at, 0, len) != NULL)
        return SQ_EPROTO;
    memcpy(labels, at, len);
    labels[len] = 0;
    o->labels = labels;
    at += len;
#define X(m, least, most)                                                                \
    if (at != NULL && at < end)                                                          \
        at = varint_get(at, end, &o->m);
    TASK_OWN(X)
#undef X
    return at == end && own_ok(o) ? 0 : SQ_EPROTO;
}

uint64_t cost_estimate(const struct cost_rule *r, uint64_t named, uint64_t bytes, uint64_t asked)
{
    unsigned __int128 all = (unsigned __int128)bytes * r->per_byte + COST_PER_BYTE_PART - 1;
    uint64_t least = u64_max(r->least, 1);

    if (named != 0)
        return u64_max(named, least);
    all = all / COST_PER_BYTE_PART + asked + r->constant;
    return u64_max(all < r->most ? (uint64_t)all : r->most, least);
}

bool cost_number(const char *p, size_t n, uint64_t *units)
{
    char text[128], *end;
    double v;

    if (n == 0 || (p[0] != '-' && (p[0] < '0' || p[0] > '9')))
        return false;
    *units = TASK_COST_MAX;
    if (n >= sizeof(text)) /* to be overlooked, as such a limit would be */
        return true;
    memcpy(text, p, n);
    text[n] = '\0';
    if (strspn(text, "0123456789+-.eE") != n)
        return false;
    v = strtod(text, &end);
    if (*end != '\0' || !(v >= 0))
        return false;
    if (v < TASK_COST_MAX)
        *units = (uint64_t)v + ((double)(uint64_t)v < v);
    return true;
}

const char *cost_pointer_wrong(const char *pointer)
{
    return pointer[0] != '/' || strstr(pointer, "//") != NULL || strchr(pointer, '~') != NULL ||
                   pointer[strlen(pointer) - 1] == '/'
               ? "a slash before each name (/model), no ~" : NULL;
}

/* ---- names and patterns ---- */

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool part_ok(const char *p, size_t n)
{
    if (n == 0 || !is_alnum(p[0]) || (n == 5 && memcmp(p, "tasks", 5) == 0))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!is_alnum(p[i]) && p[i] != '_' && p[i] != '.' && p[i] != '-')
            return false;
    return true;
}

bool queue_name_ok(const char *p, size_t n)
{
    const char *slash;

    if (n > TASK_NAME_MAX)
        return false;
    while ((slash = n > 0 ? memchr(p, '/', n) : NULL) != NULL) {
        if (!part_ok(p, (size_t)(slash - p)))
            return false;
        n -= (size_t)(slash - p) + 1;
        p = slash + 1;
    }
    return part_ok(p, n);
}

/* The text before the star must be the beginning of a name: with an 'x' behind it, it is a name. */
bool queue_match_ok(const char *match)
{
    char name[TASK_NAME_MAX];
    size_t n = strlen(match);

    if (n == 0 || n > TASK_NAME_MAX)
        return false;
    memcpy(name, match, n);
    if (name[n - 1] == '*')
        name[n - 1] = 'x';
    return queue_name_ok(name, n);
}

bool star_matches(const char *match, size_t m, const char *text, size_t n)
{
    if (m > 0 && match[m - 1] == '*')
        return n >= m - 1 && memcmp(match, text, m - 1) == 0;
    return n == m && memcmp(match, text, n) == 0;
}

bool queue_matches(const char *match, const char *queue, size_t n)
{
    return star_matches(match, strlen(match), queue, n);
}

bool queues_match(const char *list, size_t n, const char *queue, size_t queue_n)
{
    const char *end = list + n, *comma;

    for (; list < end; list = comma + 1) {
        comma = memchr(list, ',', (size_t)(end - list));
        comma = comma != NULL ? comma : end;
        if (star_matches(list, (size_t)(comma - list), queue, queue_n))
            return true;
    }
    return false;
}

/* The same on every machine. */
static uint64_t hash_of(const char *queue, size_t n)
{
    static const uint8_t key[crypto_shorthash_siphash24_KEYBYTES] = "segq task queue"; /* public */
    uint8_t h[crypto_shorthash_siphash24_BYTES];
    uint64_t v = 0;

    crypto_shorthash_siphash24(h, (const uint8_t *)queue, n, key);
    for (unsigned i = sizeof(h); i-- > 0;)
        v = v << 8 | h[i];
    return v;
}

uint32_t part_share(const char *queue, size_t n, uint32_t of)
{
    assert(of > 0);
    return (uint32_t)(hash_of(queue, n) % of);
}

bool queue_is_among(const char *queue, size_t n, unsigned percent)
{
    return (hash_of(queue, n) >> 32) % 100 < percent;
}

/* ---- limits of single keys -------------------------------------------------------------- */

enum {
#define X(m, most) NUMBER_##m,
    KEY_LIMIT(X)
#undef X
    N_NUMBERS
};

/* ---- texts ------------------------------------------------------------------------- */

static bool level_ok(const char *p, size_t n, bool star)
{
    if (n == 0 || n > TASK_NAME_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (p[i] <= 0x20 || p[i] >= 0x7f || (star && p[i] == '*' && i + 1 < n))
            return false;
    return true;
}

static bool levels_ok(const char *p, bool star)
{
    size_t n = strcspn(p, "/");

    return level_ok(p, n, star) &&
           (p[n] == 0 || (strchr(p + n + 1, '/') == NULL && level_ok(p + n + 1, strlen(p + n + 1), star)));
}

bool key_match_ok(const char *match)
{
    return levels_ok(match, true);
}

bool key_text_ok(const char *key)
{
    return levels_ok(key, false);
}

bool key_matches(const char *match, const char *key)
{
    size_t m = strcspn(match, "/"), k = strcspn(key, "/");

    if (match[m] != key[k] || !star_matches(match, m, key, k))
        return false;
    return match[m] == 0 ||
           star_matches(match + m + 1, strlen(match + m + 1), key + k + 1, strlen(key + k + 1));
}

int key_limit_compare(const struct key_limit *a, const struct key_limit *b)
{
    int by_queue = strcmp(a->queue, b->queue);

    return by_queue != 0 ? by_queue : strcmp(a->key, b->key);
}

/* ---- bytes ------------------------------------------------------------------------- */

static bool has_unit_rates(const struct key_limit *v, uint32_t n)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < n; i++)
        any |= v[i].units_1 | v[i].units_2 | v[i].units_3;
    return any != 0;
}

static bool has_windows(const struct key_limit *v, uint32_t n)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < n; i++)
        any |= v[i].windows;
    return any != 0;
}

/* Without rates in units, without windows, a release that does not know them reads the list. */
void key_limits_encode(const struct key_limit *v, uint32_t n, struct buf *b)
{
    uint64_t numbers = has_unit_rates(v, n) ? N_NUMBERS - !has_windows(v, n) : N_NUMBERS - KEY_LIMIT_LATER;

    if (n == 0)
        return;
    buf_varint(b, n);
    buf_varint(b, numbers);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t m = 0;

        buf_append(b, v[i].queue, strlen(v[i].queue) + 1);
        buf_append(b, v[i].key, strlen(v[i].key) + 1);
#define X(member, most)                                                                  \
    if (m++ < numbers)                                                                   \
        buf_varint(b, v[i].member);
        KEY_LIMIT(X)
#undef X
    }
}

/* A text with its 0. NULL: it is cut short. */
static const uint8_t *get_text(const uint8_t *p, const uint8_t *end, const char **text)
{
    const uint8_t *zero = p != NULL && p < end ? memchr(p, 0, (size_t)(end - p)) : NULL;

    *text = (const char *)p;
    return zero != NULL ? zero + 1 : NULL;
}

static const uint8_t *get_row(const uint8_t *p, const uint8_t *end, uint64_t numbers,
                              struct key_limit *l)
{
    uint64_t i = 0;

    *l = (struct key_limit){ 0 };
    p = get_text(get_text(p, end, &l->queue), end, &l->key);
#define X(m, most)                                                                       \
    if (p != NULL && i++ < numbers) {                                                    \
        p = varint_get(p, end, &l->m);                                                   \
        p = l->m <= (most) ? p : NULL;                                                   \
    }
    KEY_LIMIT(X)
#undef X
    return p;
}

/* True: a key may stand behind the one before (NULL: the first). */
static bool is_in_place(const struct key_limit *l, const struct key_limit *before)
{
    bool pinned = l->queue[0] != 0;

    if (pinned ? !queue_name_ok(l->queue, strlen(l->queue)) || !key_text_ok(l->key)
               : !key_match_ok(l->key))
        return false;
    return !pinned || before == NULL || (before->queue[0] != 0 && key_limit_compare(before, l) < 0);
}

int key_limits_decode(const uint8_t *p, size_t n, struct key_limit **v, uint32_t *count)
{
    const uint8_t *end = p + n;
    uint64_t rows, numbers = 0;

    *v = NULL;
    *count = 0;
    if (n == 0)
        return 0;
    p = varint_get(p, end, &rows);
    p = p == NULL ? NULL : varint_get(p, end, &numbers);
    if (p == NULL || rows > KEY_LIMITS_MAX || numbers > N_NUMBERS)
        return SQ_EPROTO;
    *v = calloc(rows + 1, sizeof(**v));
    if (*v == NULL)
        return SQ_ENOMEM;
    for (uint64_t i = 0; p != NULL && i < rows; i++) {
        p = get_row(p, end, numbers, &(*v)[i]);
        if (p != NULL && !is_in_place(&(*v)[i], i > 0 ? &(*v)[i - 1] : NULL))
            p = NULL;
    }
    if (p != end) {
        free(*v);
        *v = NULL;
        return SQ_EPROTO;
    }
    *count = (uint32_t)rows;
    return 0;
}
