/* usage.c: see usage.h. */
#include "task/calls/usage.h"

#include <string.h>
#include <strings.h>

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
