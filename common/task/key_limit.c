/* key_limit.c: patterns; a list as bytes. */
#include "common/task/key_limit.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/task/rules.h"

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
