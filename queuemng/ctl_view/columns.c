/* columns.c: see the header. */
#include "queuemng/ctl_view/columns.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX 511 /* bytes */
#define CUT      "..."

/* ---- formats ---- */

/* Objects that a sentence is in: an element of a list, and what the list is in. */
struct at {
    const json_t *o;
    const struct at *out; /* NULL: nothing */
};

/* The object of a path that may begin with "..", behind which it goes on. */
static const json_t *object_of(const struct at *at, const char **path)
{
    for (; strncmp(*path, "..", 2) == 0; *path += 2)
        at = at != NULL ? at->out : NULL;
    return at != NULL ? at->o : NULL;
}

/* A member that is to be written, and what the format has behind its name: "bar joined capacity 20" */
struct member {
    const json_t *o, *of; /* `path` begins at o, `more` at `of` */
    const char *path, *more;
    double v;
};

static void put_share(struct buf *b, const struct member *x)
{
    buf_printf(b, "%.0f %%", 100 * x->v);
}

static void put_size(struct buf *b, const struct member *x)
{
    double mib = x->v / (1 << 20);

    buf_printf(b, mib < 10240 ? "%.0f MiB" : "%.0f GiB", mib < 10240 ? mib : mib / 1024);
}

static void put_us(struct buf *b, const struct member *x)
{
    buf_printf(b, x->v < 10000 ? "%.1f ms" : "%.0f ms", x->v / 1000);
}

static void put_ms(struct buf *b, const struct member *x)
{
    buf_printf(b, "%.1f s", (double)ctl_u64(x->o, x->path) / 1000);
}

static void put_up(struct buf *b, const struct member *x)
{
    ctl_count(b, (ctl_u64(x->o, x->path) + 999) / 1000);
}

static void put_ago(struct buf *b, const struct member *x)
{
    uint64_t at = ctl_u64(x->o, x->path), now = ctl_u64(x->of, x->more);

    buf_printf(b, "%7" PRIu64, at < now ? (now - at) / 1000 : 0);
}

static void put_took(struct buf *b, const struct member *x)
{
    double took = x->v - ctl_f64(x->of, x->more);

    if (took >= 0 && took < 10)
        buf_printf(b, "%.0f ms", 1000 * took);
    else
        ctl_span(b, took);
}

static void put_per(struct buf *b, const struct member *x)
{
    uint64_t n = ctl_u64(x->of, x->more);

    ctl_count(b, n > 0 ? ctl_u64(x->o, x->path) / n : 0);
}

static void put_lately(struct buf *b, const struct member *x)
{
    if (x->v < 10000)
        buf_printf(b, "%.4g/s", x->v);
    else
        ctl_rate(b, x->v);
}

static void put_counter(struct buf *b, const struct member *x)
{
    if (x->v < 0)
        buf_byte(b, '-');
    else
        ctl_rate(b, x->v);
}

static void put_change(struct buf *b, const struct member *x)
{
    ctl_change(b, x->v);
}

static void put_bar(struct buf *b, const struct member *x)
{
    char used[CTL_PATH], of[CTL_PATH];
    const char *width = ctl_part(ctl_part(x->more, ' ', used), ' ', of);

    ctl_bar(b, ctl_u64(x->o, x->path), ctl_u64(x->o, used), ctl_u64(x->o, of), strtoul(width, NULL, 10));
}

static void put_pad(struct buf *b, const struct member *x)
{
    int width = atoi(x->more);

    if (x->v > 0)
        buf_printf(b, "%*" PRIu64, -width, ctl_u64(x->o, x->path));
    else
        ctl_pad(b, ctl_str(x->o, x->path), (size_t)width);
}

/* more: words for true and false. */
static void put_plain(struct buf *b, const struct member *x)
{
    const json_t *v = ctl_member(x->o, x->path);
    size_t yes = strcspn(x->more, " ");

    if (json_is_string(v))
        ctl_clean(b, json_string_value(v));
    else if (json_is_integer(v))
        buf_i64(b, json_integer_value(v));
    else if (json_is_real(v))
        buf_printf(b, "%.10g", x->v);
    else
        buf_printf(b, "%.*s", json_is_true(v) ? (int)yes : 40, json_is_true(v) ? x->more
                                                               : json_is_false(v) ? x->more + yes + 1 : "-");
}

static void put_count(struct buf *b, const struct member *x)
{
    ctl_count(b, json_array_size(ctl_member(x->o, x->path)));
}

static void put_json(struct buf *b, const struct member *x)
{
    const json_t *v = ctl_member(x->o, x->path);
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

    ctl_clean(b, v == NULL || (json_is_null(v) && x->more != NULL) ? "-" : text != NULL ? text : "?");
    free(text);
}

static void put_texts(struct buf *b, const struct member *x)
{
    const json_t *list = ctl_member(x->o, x->path), *text;
    size_t i;

    json_array_foreach(list, i, text) {
        buf_str(b, i > 0 ? "," : "");
        ctl_clean(b, json_is_string(text) ? json_string_value(text) : "?");
    }
    if (json_array_size(list) == 0)
        buf_byte(b, '-');
}

static const struct format {
    const char *name;
    void (*put)(struct buf *b, const struct member *x);
    unsigned least, most; /* words behind the name */
} formats[] = {
    { "share", put_share, 0, 0 }, { "size", put_size, 0, 0 }, { "us", put_us, 0, 0 }, { "ms", put_ms, 0, 0 },
    { "up", put_up, 0, 0 }, { "ago", put_ago, 1, 1 }, { "took", put_took, 1, 1 }, { "per", put_per, 1, 1 },
    { "lately", put_lately, 0, 0 }, { "counter", put_counter, 0, 0 }, { "change", put_change, 0, 0 },
    { "bar", put_bar, 3, 3 }, { "pad", put_pad, 1, 1 }, { "count", put_count, 0, 0 }, { "json", put_json, 0, 1 },
    { "plain", put_plain, 2, 2 }, { "texts", put_texts, 0, 0 },
};

static unsigned words_in(const char *s)
{
    unsigned n = 0;

    for (; s != NULL; s = strchr(s + 1, ' '))
        n++;
    return n;
}

/* ".4g", ".1f" */
static bool is_of_printf(const char *name)
{
    return name[0] == '.' && isdigit((unsigned char)name[1]) &&
           (name[2] == 'f' || name[2] == 'g') && name[3] == '\0';
}

/* b NULL: asserts that there is such a format, with its words. */
static void put_format(struct buf *b, const struct at *at, const char *path, const char *format)
{
    struct member x = { .o = object_of(at, &path), .path = path };
    const struct format *f = formats;
    char name[CTL_PATH];
    unsigned words;

    x.v = ctl_f64(x.o, path);
    x.more = ctl_part(format, ' ', name);
    x.of = x.more != NULL ? object_of(at, &x.more) : NULL;
    words = words_in(x.more);
    while (f < formats + ARRAY_LEN(formats) && strcmp(f->name, name) != 0)
        f++;
    assert(f < formats + ARRAY_LEN(formats) ? words >= f->least && words <= f->most : is_of_printf(format));
    if (b != NULL && name[0] == '.')
        buf_printf(b, name[2] == 'f' ? "%.*f" : "%.*g", name[1] - '0', x.v);
    else if (b != NULL)
        f->put(b, &x);
}

#define MARKS "#=%/~^@*!"

/* Writes a member in the format of its mark; another character is none: a text. */
static void put_as(struct buf *b, const struct at *at, const char *path, char mark)
{
    const json_t *o = object_of(at, &path);
    json_int_t id = json_integer_value(ctl_member(o, path));
    double v = ctl_f64(o, path);

    if (mark == '#')
        ctl_count(b, ctl_u64(o, path));
    else if (mark == '=')
        buf_u64(b, ctl_u64(o, path));
    else if (mark == '%')
        buf_printf(b, "%.10g", v);
    else if (mark == '/')
        ctl_rate(b, v);
    else if (mark == '~' || mark == '^')
        ctl_span(b, mark == '~' ? v / 1000 : v);
    else if (mark == '@' || mark == '*')
        ctl_moment(b, mark == '*' ? v / 1000 : v);
    else if (mark == '!' && id != 0)
        buf_i64(b, id);
    else
        ctl_clean(b, ctl_str(o, path));
}

/* ---- sentences ---- */

/* "name==..current" */
static bool is_same(const struct at *at, const json_t *o, const char *path, const char *other)
{
    const json_t *x = object_of(at, &other);

    if (json_is_string(ctl_member(o, path)) || json_is_string(ctl_member(x, other)))
        return ctl_equals(o, path, ctl_str(x, other));
    return ctl_u64(o, path) == ctl_u64(x, other);
}

/* A text is no number, and a member that is absent is not 0. */
static bool is_number(const json_t *o, const char *path, const char *number)
{
    uint64_t v = ctl_u64(o, path);

    return isdigit((unsigned char)*number) && v == strtoull(number, NULL, 10) &&
           (v > 0 || json_is_number(ctl_member(o, path)));
}

/* "?up", "?waiting=1", "?stalled_ms>29999", "+value", "!data" */
static bool holds(const struct at *at, const char *test)
{
    char path[CTL_PATH];
    const char *from = test + 1;
    const json_t *o = object_of(at, &from), *m;
    size_t n = strcspn(from, "=<>");
    const char *text = from[n] != '\0' ? from + n + 1 : NULL;

    memcpy(path, from, n);
    path[n] = '\0';
    assert(*test == '?' || text == NULL);
    assert(strchr(path, '+') == NULL || (*test == '?' && (text == NULL || from[n] == '=')));
    m = ctl_member(o, path);
    if (*test == '!')
        return m != NULL;
    if (*test == '+')
        return json_is_number(m);
    if (text != NULL && from[n] != '=') {
        double than = *text <= '9' ? atof(text) : ctl_f64(o, text);

        assert(isalnum((unsigned char)*text));
        return from[n] == '<' ? ctl_f64(o, path) < than : ctl_f64(o, path) > than;
    }
    if (text != NULL && *text == '=')
        return is_same(at, o, path, text + 1);
    if (text != NULL)
        return ctl_equals(o, path, text) || is_number(o, path, text);
    return json_is_true(m) || json_number_value(m) > 0 || ctl_u64(o, path) > 0 ||
           json_string_length(m) > 0 || json_array_size(m) > 0 || json_object_size(m) > 0;
}

/* The mark, or the closing brace, behind p: braces in between are passed over in pairs. */
static const char *mark_behind(const char *p, char mark)
{
    for (unsigned depth = 0; depth > 0 || (*p != mark && *p != '}'); p++) {
        assert(*p != '\0');
        depth += (*p == '{') - (*p == '}');
    }
    return p;
}

static bool is_joint(char c)
{
    return c == '.' || c == '+';
}

/* "load.cpu", "..name", "waiting+returning", ".": names, a point or a plus between two. */
static bool is_path(const char *p, size_t n)
{
    for (; n > 1 && memcmp(p, "..", 2) == 0; n -= 2)
        p += 2;
    if (n == 1 && *p == '.')
        return true;
    for (size_t i = 0; i < n; i++)
        if (is_joint(p[i]) && (i == 0 || i + 1 == n || is_joint(p[i + 1])))
            return false;
    return n > 0;
}

/* Bytes of a member's name, or of a sum of them; asserts that there is one. */
static size_t path_len(const char *p)
{
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_.+");

    assert(n < CTL_PATH && is_path(p, n));
    return n;
}

/* b NULL: it is only read. The case that is not said is read, too, so that a wrong sentence is found
 * whatever it is about. */
static void say(struct buf *b, const struct at *at, const char *p, const char *end);

/* Says `each` of all elements; of an object's members as {"key": .., "value": ..}. False: none. */
static bool say_each(struct buf *b, const struct at *at, const json_t *list, const char *between, const char *p,
                     const char *end)
{
    size_t n = json_is_object(list) ? json_object_size(list) : json_array_size(list);
    void *member = json_object_iter((json_t *)(uintptr_t)list);

    for (size_t i = 0; i < n; i++) {
        json_t *x = member == NULL ? json_incref(json_array_get(list, i))
                    : json_pack("{s:s,s:O}", "key", json_object_iter_key(member), "value",
                                json_object_iter_value(member));

        buf_str(b, i > 0 ? between : "");
        say(b, &(struct at){ x, at }, p, end);
        json_decref(x);
        member = json_object_iter_next((json_t *)(uintptr_t)list, member);
    }
    return n > 0;
}

/* p is behind the brace; returns its closing one. */
static const char *say_case(struct buf *b, const struct at *at, const char *p)
{
    size_t n = path_len(p + 1);
    const char *yes, *bar, *end, *path;
    char test[CTL_PATH], list[CTL_PATH];
    const json_t *o;
    bool is;

    yes = ctl_part(p, ':', test);
    assert(yes != NULL && strpbrk(test, "{}|") == NULL);
    assert(*p == '&' ? memchr(p + 1, '+', n) == NULL : strchr(":=<>", p[1 + n]) != NULL);
    bar = mark_behind(yes, '|');
    end = *bar == '|' ? mark_behind(bar + 1, '}') : bar;
    assert(*end == '}');
    if (*p == '&') {
        say(NULL, NULL, yes, bar);
        snprintf(list, sizeof(list), "%.*s", (int)n, p + 1);
        path = list;
        o = object_of(at, &path);
        is = b != NULL && say_each(b, at, ctl_member(o, path), test + 1 + n, yes, bar);
    } else {
        is = holds(at, test);
        say(is ? b : NULL, at, yes, bar);
    }
    if (bar < end)
        say(is ? NULL : b, at, bar + 1, end);
    return end;
}

static const char *say_member(struct buf *b, const struct at *at, const char *p)
{
    size_t n = path_len(p), more = strcspn(p + n, "}");
    char path[CTL_PATH], format[CTL_PATH];

    assert(p[n + more] == '}' && more < CTL_PATH);
    assert(more == 0 || p[n] == ':' || (more == 1 && strchr(MARKS, p[n]) != NULL));
    assert(memchr(p, '+', n) == NULL || (more == 1 && strchr("#=", p[n]) != NULL)); /* they alone add */
    snprintf(path, sizeof(path), "%.*s", (int)n, p);
    snprintf(format, sizeof(format), "%.*s", more > 0 ? (int)more - 1 : 0, p + n + 1);
    if (p[n] == ':')
        put_format(b, at, path, format);
    else if (b != NULL)
        put_as(b, at, path, p[n]);
    return p + n + more;
}

static void say(struct buf *b, const struct at *at, const char *p, const char *end)
{
    while (p < end) {
        const char *brace = memchr(p, '{', (size_t)(end - p));
        size_t n = (size_t)((brace != NULL ? brace : end) - p);
        bool is_case;

        assert(memchr(p, '}', n) == NULL);
        if (b != NULL)
            buf_append(b, p, n);
        if (brace == NULL)
            return;
        is_case = brace[1] != '\0' && strchr("?+!&", brace[1]) != NULL;
        p = (is_case ? say_case : say_member)(b, at, brace + 1) + 1;
    }
}

void ctl_say_in(struct buf *b, const json_t *o, const json_t *out, const char *sentence)
{
    say(b, &(struct at){ o, &(struct at){ out, NULL } }, sentence, sentence + strlen(sentence));
}

void ctl_say(struct buf *b, const json_t *o, const char *sentence)
{
    ctl_say_in(b, o, NULL, sentence);
}

/* ---- rows ---- */

/* A cell has been appended from there on: one that is too long is cut between two characters. */
static void cell_end(struct table *t, size_t col, size_t from)
{
    char *cell = (char *)t->text.data + from;
    size_t n = t->text.len - from, width;

    if (t->text.failed)
        return;
    if (n > CELL_MAX) {
        for (n = CELL_MAX - strlen(CUT); n > 0 && (cell[n] & 0xc0) == 0x80;)
            n--;
        memcpy(cell + n, CUT, strlen(CUT));
        n += strlen(CUT);
    }
    t->text.len = from + n;
    width = ctl_width(cell, n);
    if (width > t->width[col])
        t->width[col] = width;
    buf_byte(&t->text, 0);
}

static const char *head_of(const struct col *col)
{
    return col->head + (*col->head == '>');
}

void table_init(struct table *t, const struct col *cols, size_t n_cols)
{
    assert(n_cols <= TABLE_COLS);
    *t = (struct table){ .cols = cols, .n_cols = n_cols };
    buf_init(&t->text);
    for (size_t i = 0; i < n_cols; i++) {
        size_t from = t->text.len;

        assert(!cols[i].if_any || i == n_cols - 1);
        buf_str(&t->text, head_of(&cols[i]));
        cell_end(t, i, from);
        ctl_say(NULL, NULL, cols[i].cell); /* right, even if there are no rows */
    }
}

void table_row(struct table *t, const json_t *row, const json_t *out)
{
    for (size_t i = 0; i < t->n_cols; i++) {
        size_t from = t->text.len;

        ctl_say_in(&t->text, row, out, t->cols[i].cell);
        t->said |= i == t->n_cols - 1 && t->text.len > from;
        cell_end(t, i, from);
    }
    t->n_rows++;
}

void table_row_with(struct table *t, const json_t *row, const char *member, json_t *v)
{
    json_t *more = json_copy((json_t *)(uintptr_t)row);

    (void)json_object_set_new(more, member, v);
    table_row(t, more, NULL);
    json_decref(more);
}

static bool is_in(const char *const *v, size_t n_v, const char *word, size_t n)
{
    for (size_t i = 0; i < n_v; i++)
        if (strlen(v[i]) == n && memcmp(v[i], word, n) == 0)
            return true;
    return false;
}

/* The colour of a word about a state, by the first one of "down (3 s)", "up, draining". */
static enum colour cell_colour(const char *head, const char *state)
{
    static const char *const states[] = { "STATE", "OUTCOME", "LIFE" };
    static const char *const good[] = { "up", "ok", "open", "succeeded", "done", "current" };
    static const char *const warn[] = { "paused", "closed", "draining", "moving", "retrying",
                                        "half-open", "passthrough", "unknown", "skipped", "fenced",
                                        "rebuilding", "opening", "tripped" };
    static const char *const bad[] = { "down", "lost", "dead", "FAILED", "failed", "unusable",
                                       "missed", "refused", "reject", "unowned" };
    size_t n = strcspn(state, " ,:(");

    if (!is_in(states, ARRAY_LEN(states), head, strlen(head)))
        return COLOUR_NONE;
    return is_in(bad, ARRAY_LEN(bad), state, n)     ? COLOUR_BAD
           : is_in(warn, ARRAY_LEN(warn), state, n) ? COLOUR_WARN
           : is_in(good, ARRAY_LEN(good), state, n) ? COLOUR_GOOD
                                                    : COLOUR_NONE;
}

static void print(const struct table *t, struct buf *b, size_t indent)
{
    const char *s = (const char *)t->text.data;
    size_t shown = t->n_cols - (t->cols[t->n_cols - 1].if_any && !t->said);

    for (size_t i = 0; i < t->n_cols * (t->n_rows + 1); i++) {
        size_t at = i % t->n_cols, len = strlen(s), gap = t->width[at] - ctl_width(s, len);
        const struct col *col = &t->cols[at];
        bool last = at == shown - 1, right = *col->head == '>';

        if (at >= shown) {
            s += len + 1;
            continue;
        }
        buf_printf(b, "%*s", (int)((at == 0 ? indent : 2) + (right ? gap : 0)), "");
        colour_put(b, i < t->n_cols ? COLOUR_BOLD : cell_colour(head_of(col), s), s);
        buf_printf(b, "%*s%s", right || last ? 0 : (int)gap, "", last ? "\n" : "");
        s += len + 1;
    }
}

void table_put(struct buf *b, struct table *t, size_t indent, const char *none)
{
    b->failed |= t->text.failed;
    if (t->n_rows == 0 && none != NULL)
        buf_str(b, none);
    else if (!t->text.failed)
        print(t, b, indent);
    buf_fini(&t->text);
}

/* "rules" in "routes/rules" are the rows; in "budgets+members" both are. */
static void put_rows(struct table *t, const json_t *doc, const char *list)
{
    size_t n = strcspn(list, "/+"), i;
    const json_t *row;
    char name[24];

    assert(n > 0 && n < sizeof(name));
    snprintf(name, sizeof(name), "%.*s", (int)n, list);
    json_array_foreach(json_object_get(doc, name), i, row) {
        if (list[n] != '/')
            table_row(t, row, doc);
        if (list[n] != '\0')
            put_rows(t, row, list + n + 1);
    }
}

void ctl_say_away(struct buf *b, const json_t *doc)
{
    const json_t *away = json_object_get(doc, "away"), *x, *other;
    size_t i, k;

    json_array_foreach(away, i, x) {
        const char *node = ctl_str(x, "node");
        size_t n = 0;

        if (ctl_find(doc, "away", "node", node) != x)
            continue; /* said with the first one of the node */
        json_array_foreach(away, k, other)
            n += ctl_equals(other, "node", node);
        if (n > 1)
            buf_printf(b, "%zu partitions", n);
        else
            ctl_say(b, x, "partition {partition=}");
        ctl_say(b, x, " did not answer: task node {node}\n");
    }
}

void table_list(struct buf *b, const json_t *doc, const char *list, const struct col *cols,
                size_t n_cols, const char *none, const char *then)
{
    struct table t;

    table_init(&t, cols, n_cols);
    put_rows(&t, doc, list);
    table_put(b, &t, 0, json_array_size(json_object_get(doc, "away")) > 0 ? "" : none);
    ctl_say_away(b, doc);
    ctl_say(b, doc, then);
}
