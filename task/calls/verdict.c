/* verdict.c: see the table in the header. */
#include "task/calls/verdict.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/recur/date.h"

const char *call_class_word(enum call_class c)
{
    static const char *const words[] = {
#define X(NAME, word) word,
        CALL_CLASSES(X)
#undef X
    };

    assert(c < CALL_NCLASSES);
    return words[c];
}

const char *call_fault_word(enum call_fault f)
{
    static const char *const words[] = {
#define X(NAME, word) word,
        CALL_FAULTS(X)
#undef X
    };

    assert(f < CALL_NFAULTS);
    return words[f];
}

/* ---- Retry-After ------------------------------------------------------------------------- */

/* Digits alone, as milliseconds; what is more than DELAY_MAX_MS is that. -1: no number. */
static int64_t seconds(const char *p)
{
    int64_t v = 0;

    if (*p == 0)
        return -1;
    for (; *p >= '0' && *p <= '9'; p++)
        v = v * 10 + *p - '0' < DELAY_MAX_MS / 1000 ? v * 10 + *p - '0' : DELAY_MAX_MS / 1000;
    return *p == 0 ? v * 1000 : -1;
}

/* RFC 9110 5.6.7, IMF-fixdate: "Sun, 06 Nov 1994 08:49:37 GMT", as Unix ms. -1: it is none. */
static int64_t date(const char *p)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    unsigned d, y, h, min, s;
    char month[4], zone[4], more;
    const char *at;

    if (strlen(p) != 29 || sscanf(p + 3, ", %2u %3s %4u %2u:%2u:%2u %3s%c", &d, month, &y, &h, &min,
                                  &s, zone, &more) != 7)
        return -1;
    at = strstr(months, month);
    if (at == NULL || (at - months) % 3 != 0 || strcmp(zone, "GMT") != 0 || y < 1970 || d < 1 ||
        d > 31 || h > 23 || min > 59 || s > 60)
        return -1;
    return ((day_of_date(y, (at - months) / 3 + 1, d) * 24 + h) * 60 + min) * 60000 + s * 1000;
}

/* -1: it says nothing. */
static int64_t retry_after(const char *p, int64_t wall_ms)
{
    int64_t ms = seconds(p), at = ms < 0 ? date(p) : -1;

    if (at >= 0)
        ms = at > wall_ms ? at - wall_ms : 0;
    return ms > HOLD_MAX_MS ? HOLD_MAX_MS : ms;
}

/* ---- the table --------------------------------------------------------------------------- */

static bool aborts(const struct call_answer *a)
{
    return strcasecmp(a->command, "abort") == 0 || strcasecmp(a->delivery, "abort-message") == 0 ||
           (a->status == 489 && strcasecmp(a->upstash, "true") == 0);
}

static struct verdict dead(enum call_class class)
{
    return (struct verdict){ .kind = VERDICT_DEAD, .class = class };
}

/* True: no connection, so nothing was sent. */
static bool is_unsent(enum call_fault f)
{
    return f == CALL_DNS || f == CALL_CONNECT || f == CALL_TLS;
}

/* The target, or the way to it, is not well now. */
static struct verdict again(const struct call_answer *a, enum call_class class, int64_t wall_ms)
{
    int64_t ms = retry_after(a->retry_after, wall_ms);
    int64_t least = ms > 0 ? ms : 0;

    return (struct verdict){ .kind = VERDICT_RETRY,
                             .class = class,
                             .delay_ms = -1,
                             .least_ms = least,
                             .spared = class == CLASS_BUSY || is_unsent(a->fault),
                             .unsent = is_unsent(a->fault),
                             .failed = class != CLASS_EARLY,
                             .hold_ms = class == CLASS_BUSY || a->status == 503 ? least : 0 };
}

/* "NAME=SECONDS": ms; -1: another command, or none. */
static int64_t commanded(const struct call_answer *a, const char *name)
{
    size_t n = strlen(name);

    return strncasecmp(a->command, name, n) == 0 && a->command[n] == '='
               ? seconds(a->command + n + 1) : -1;
}

struct verdict verdict_of(const struct call_answer *a, int64_t wall_ms)
{
    int64_t asked = commanded(a, "retry"), pending = commanded(a, "pending");

    if (call_fault_is_ours(a->fault))
        return (struct verdict){ .kind = VERDICT_RETRY, .class = CLASS_UNANSWERED, .delay_ms = -1,
                                 .spared = a->fault != CALL_BODY, .unsent = a->fault == CALL_REFUSED };
    if (a->fault != CALL_NONE)
        return again(a, CLASS_UNANSWERED, wall_ms);
    if (aborts(a))
        return dead(CLASS_ABORTED);
    if (asked >= 0)
        return (struct verdict){ .kind = VERDICT_RETRY, .class = CLASS_ASKED, .delay_ms = asked };
    if (a->status == 202 && pending > 0)
        return (struct verdict){ .kind = VERDICT_PENDING, .class = CLASS_PENDING,
                                 .delay_ms = ms_min(pending, PENDING_MAX_MS) };
    if (a->status >= 200 && a->status < 300)
        return (struct verdict){ .kind = VERDICT_DONE, .class = CLASS_SUCCEEDED };
    if (a->status == 429)
        return again(a, CLASS_BUSY, wall_ms);
    if (a->status == 408 || a->status == 425)
        return again(a, CLASS_EARLY, wall_ms);
    if (a->status >= 500 && a->status < 600)
        return again(a, CLASS_BROKEN, wall_ms);
    if (a->status >= 300 && a->status < 400)
        return dead(CLASS_REDIRECT);
    return dead(a->status == 410 ? CLASS_GONE : CLASS_PERMANENT);
}
