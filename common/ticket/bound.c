/* bound.c: see bound.h. */
#include "common/ticket/bound.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

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
