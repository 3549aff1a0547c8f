/* verdict.c: see the table in the header. */
#include "task/calls/verdict.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/recur/recur.h"

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

/* ---- usage -------------------------------------------------------------------------------- */

/* ---- a text of JSON ------------------------------------------------------------------------ */

static void text_begin(struct usage *u)
{
    u->text = (struct usage_text){ .at = 1, .level = 1 };
}

static size_t name_len(const struct usage *u)
{
    return strcspn(u->pointer + u->text.at, "/");
}

static void number_ends(struct usage_text *t)
{
    uint64_t units;

    if (t->n > 0 && t->n < USAGE_NUMBER && cost_number(t->number, t->n, &units)) {
        t->found = true;
        t->units = units;
    }
    t->n = 0;
    t->value = false;
}

/* A text ends: what it has said counts if all that it opened is closed. */
static void text_ends(struct usage *u)
{
    struct usage_text *t = &u->text;

    number_ends(t);
    if (t->found && t->depth == 0 && !t->string) {
        u->known = true;
        u->units = t->units;
    }
    text_begin(u);
}

static bool is_last_name(const struct usage *u)
{
    return u->pointer[u->text.at + name_len(u)] == '\0';
}

/* An object whose name fits: the next name is looked for in it. */
static void go_in(struct usage *u)
{
    struct usage_text *t = &u->text;

    t->at = (uint16_t)(t->at + name_len(u) + 1);
    t->level = t->depth;
    t->wants_name = true;
}

/* The object is over: back to the name before. */
static void go_out(struct usage *u)
{
    struct usage_text *t = &u->text;

    for (t->at--; t->at > 1 && u->pointer[t->at - 1] != '/';)
        t->at--;
    t->level--;
}

static void opens(struct usage *u, char c)
{
    struct usage_text *t = &u->text;
    bool root = t->depth == 0;

    if (t->depth < UINT32_MAX - 1)
        t->depth++;
    if (root && c == '{')
        t->wants_name = true;
    else if (root)
        t->level = UINT32_MAX; /* a list has no names: nothing is there */
    else if (t->value && c == '{' && !is_last_name(u))
        go_in(u);
    t->value = false;
}

static void closes(struct usage *u)
{
    struct usage_text *t = &u->text;

    number_ends(t);
    t->wants_name = false;
    if (t->depth == t->level && t->level > 1)
        go_out(u);
    if (t->depth > 0)
        t->depth--;
}

static void string_begins(struct usage *u)
{
    struct usage_text *t = &u->text;

    t->string = true;
    t->name = t->wants_name && t->depth == t->level;
    t->fits = t->name;
    t->read = 0;
    t->wants_name = t->value = false;
}

static void in_string(struct usage *u, char c)
{
    struct usage_text *t = &u->text;

    if (t->escape) {
        t->escape = false;
    } else if (c == '\\') {
        t->escape = true;
        t->fits = false;
    } else if (c == '"') {
        t->string = false;
        t->fits = t->fits && t->read == name_len(u);
    } else if (t->fits) {
        t->fits = t->read < name_len(u) && u->pointer[t->at + t->read] == c;
        t->read++;
    }
}

/* A byte between strings. */
static void outside(struct usage *u, char c)
{
    struct usage_text *t = &u->text;

    switch (c) {
    case '"':
        string_begins(u);
        break;
    case '{':
    case '[':
        opens(u, c);
        break;
    case '}':
    case ']':
        closes(u);
        break;
    case ':':
        t->value = t->name && t->fits && t->depth == t->level;
        t->name = t->fits = false;
        break;
    case ',':
        number_ends(t);
        t->wants_name = t->depth == t->level;
        break;
    case ' ':
    case '\t':
    case '\n':
    case '\r':
        if (t->n > 0)
            number_ends(t);
        break;
    default:
        if (t->value && is_last_name(u) && t->n < USAGE_NUMBER)
            t->number[t->n++] = c;
    }
}

/* How many bytes from p on change nothing. */
static size_t dull(const struct usage_text *t, const char *p, size_t n)
{
    size_t i = 0;

    if (t->string && !t->fits && !t->escape)
        while (i < n && p[i] != '"' && p[i] != '\\')
            i++;
    return i;
}

static void text_more(struct usage *u, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        i += dull(&u->text, p + i, n - i);
        if (i == n)
            return;
        if (u->text.string)
            in_string(u, p[i]);
        else
            outside(u, p[i]);
    }
}

/* ---- lines, and events --------------------------------------------------------------------- */

static void lines_more(struct usage *u, const char *p, size_t n)
{
    while (n > 0) {
        const char *end = memchr(p, '\n', n);
        size_t of_line = end != NULL ? (size_t)(end - p) : n;

        text_more(u, p, of_line);
        if (end == NULL)
            return;
        text_ends(u);
        p += of_line + 1;
        n -= of_line + 1;
    }
}

static void line_ends(struct usage *u)
{
    if (u->line.empty)
        text_ends(u);
    else if (u->line.value && !u->line.other)
        text_more(u, "\n", 1);
    u->line = (struct usage_line){ .empty = true };
}

/* A byte of a field's name. (A BOM in front of the first line makes that another field: it has no numbers.) */
static void in_field(struct usage_line *l, char c)
{
    static const char data[] = "data";

    l->empty = false;
    if (c == ':') {
        l->value = true;
        l->other = l->other || l->n != sizeof(data) - 1;
    } else if (l->n < sizeof(data) - 1 && data[l->n] == c) {
        l->n++;
    } else {
        l->other = true;
    }
}

static void events_more(struct usage *u, const char *p, size_t n)
{
    struct usage_line *l = &u->line;

    for (size_t i = 0; i < n; i++) {
        size_t k = i;

        if (p[i] == '\r' || p[i] == '\n') {
            bool second = l->cr && p[i] == '\n';

            if (!second)
                line_ends(u);
            l->cr = p[i] == '\r';
            continue;
        }
        l->cr = false;
        if (!l->value) {
            in_field(l, p[i]);
            continue;
        }
        while (k < n && p[k] != '\r' && p[k] != '\n')
            k++;
        if (!l->other)
            text_more(u, p + i, k - i);
        i = k - 1;
    }
}

/* ---- an answer ----------------------------------------------------------------------------- */

static bool is_type(const char *type, const char *name)
{
    size_t n = strlen(name);

    return strncasecmp(type, name, n) == 0 && (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

void usage_begin(struct usage *u, const char *pointer, const char *type)
{
    size_t n = strlen(pointer);

    u->kind = n == 0 || n > COST_POINTER_MAX     ? USAGE_NONE
              : is_type(type, "text/event-stream") ? USAGE_EVENTS
              : is_type(type, "application/x-ndjson") || is_type(type, "application/jsonl") ||
                      is_type(type, "application/x-jsonlines")
                  ? USAGE_LINES : USAGE_WHOLE;
    u->known = false;
    u->units = 0;
    if (u->kind == USAGE_NONE)
        return;
    memcpy(u->pointer, pointer, n + 1);
    u->line = (struct usage_line){ .empty = true };
    text_begin(u);
}

void usage_more(struct usage *u, const void *p, size_t n)
{
    if (u->kind == USAGE_EVENTS)
        events_more(u, p, n);
    else if (u->kind == USAGE_LINES)
        lines_more(u, p, n);
    else if (u->kind == USAGE_WHOLE)
        text_more(u, p, n);
}

/* The last line, or event, may have no end. */
bool usage_end(struct usage *u, uint64_t *units)
{
    if (u->kind != USAGE_NONE)
        text_ends(u);
    u->kind = USAGE_NONE;
    *units = u->units;
    return u->known;
}
