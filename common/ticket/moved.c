/* moved.c: see moved.h. */
#include "common/ticket/moved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

#define LINE_MAX 80

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
    return snprintf(to, LINE_MAX, "%llu-%u %lld %s%s\n", (unsigned long long)x->seg, x->number,
                    (long long)x->until_s, x->open ? "-" : "", x->device);
}

/* The device that has it keeps it when nobody comes. */
static bool is_over(const struct moved_ticket *x, int64_t now_s)
{
    return x->until_s + (x->open && x->device[0] != '\0' ? MOVED_KEEP_S : 0) <= now_s;
}

int moved_put(char **text, const struct moved_ticket *x, int64_t now_s)
{
    size_t cap = (*text != NULL ? strlen(*text) : 0) + LINE_MAX + 1, n = 0;
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
