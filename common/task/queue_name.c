/* queue_name.c: see queue_name.h. */
#include "common/task/queue_name.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

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
