/* columns.c: see the header. Colours are the 16 that every terminal has (ECMA-48, SGR), so that the
 * operator's own palette holds. */
#include "queuemng/ctl_view/columns.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#define CELL_MAX 511

/* ---- colours ---- */

static bool with_colours;

void colours_on(bool on)
{
    with_colours = on;
}

static bool is_in(const char *const *v, size_t n_v, const char *word, size_t n)
{
    for (size_t i = 0; i < n_v; i++)
        if (strlen(v[i]) == n && memcmp(v[i], word, n) == 0)
            return true;
    return false;
}

/* By the first word of "down (3 s)", "up, draining". */
static enum colour colour_of(const char *state)
{
    static const char *const good[] = { "up", "ok", "open", "succeeded", "done", "current" };
    static const char *const warn[] = { "paused", "closed", "draining", "moving", "retrying",
                                        "half-open", "passthrough", "unknown", "skipped", "fenced",
                                        "rebuilding", "opening", "tripped" };
    static const char *const bad[] = { "down", "lost", "dead", "FAILED", "failed", "unusable",
                                       "missed", "refused", "reject", "unowned" };
    size_t n = strcspn(state, " ,:(");

    return is_in(bad, ARRAY_LEN(bad), state, n)     ? COLOUR_BAD
           : is_in(warn, ARRAY_LEN(warn), state, n) ? COLOUR_WARN
           : is_in(good, ARRAY_LEN(good), state, n) ? COLOUR_GOOD
                                                    : COLOUR_NONE;
}

void colour_put(struct buf *b, enum colour colour, const char *text)
{
    static const char *const sgr[] = { [COLOUR_BOLD] = "\033[1m", [COLOUR_GOOD] = "\033[32m",
                                       [COLOUR_WARN] = "\033[33m", [COLOUR_BAD] = "\033[31m" };
    bool coloured = with_colours && colour != COLOUR_NONE;

    if (coloured)
        buf_str(b, sgr[colour]);
    buf_str(b, text);
    if (coloured)
        buf_str(b, "\033[0m");
}

/* ---- rows ---- */

/* A cell has been appended from there on: it is cut between two characters. */
static void cell_end(struct table *t, size_t col, size_t from)
{
    const char *cell = (const char *)t->text.data + from;
    size_t n = t->text.len - from, width;

    if (t->text.failed)
        return;
    if (n > CELL_MAX)
        for (n = CELL_MAX; n > 0 && (cell[n] & 0xc0) == 0x80;)
            n--;
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

        buf_str(&t->text, head_of(&cols[i]));
        cell_end(t, i, from);
        if (cols[i].put == NULL)
            ctl_say(NULL, NULL, cols[i].cell); /* right, even if there are no rows */
    }
}

static void put_cell(struct buf *b, const struct col *col, const json_t *row)
{
    const json_t *v = col->only != ALWAYS ? ctl_member(row, col->cell) : NULL;

    if (col->put == NULL)
        ctl_say(b, row, col->cell);
    else if ((col->only == IF_NUMBER && !json_is_number(v)) ||
             (col->only == IF_POSITIVE && json_number_value(v) <= 0))
        buf_byte(b, '-');
    else
        col->put(b, row, col->cell);
}

void table_row(struct table *t, const json_t *row)
{
    for (size_t i = 0; i < t->n_cols; i++) {
        size_t from = t->text.len;

        put_cell(&t->text, &t->cols[i], row);
        t->said |= i == t->n_cols - 1 && t->text.len > from;
        cell_end(t, i, from);
    }
    t->n_rows++;
}

void table_row_with(struct table *t, const json_t *row, const char *member, json_t *v)
{
    json_t *more = json_copy((json_t *)(uintptr_t)row);

    (void)json_object_set_new(more, member, v);
    table_row(t, more);
    json_decref(more);
}

/* A word of a column about states. */
static enum colour cell_colour(const char *head, const char *word)
{
    static const char *const states[] = { "STATE", "OUTCOME", "LIFE" };

    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (strcmp(head, states[i]) == 0)
            return colour_of(word);
    return COLOUR_NONE;
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

void view_away(struct buf *b, const json_t *doc)
{
    const json_t *k;
    size_t i;

    json_array_foreach(json_object_get(doc, "away"), i, k)
        ctl_say(b, k, "partition {partition=} did not answer: task node {node}\n");
}

void table_list(struct buf *b, const json_t *doc, const char *list, const struct col *cols,
                size_t n_cols,
                const char *none)
{
    struct table t;
    const json_t *row;
    size_t i;

    table_init(&t, cols, n_cols);
    json_array_foreach(json_object_get(doc, list), i, row)
        table_row(&t, row);
    table_put(b, &t, 0, none);
    view_away(b, doc);
}

/* ---- what a process uses ---- */

void put_cpu(struct buf *b, const json_t *o, const char *path)
{
    buf_printf(b, "%.0f %%", 100 * ctl_f64(o, path));
}

void put_memory(struct buf *b, const json_t *o, const char *path)
{
    double mib = ctl_f64(o, path) / (1 << 20);

    if (mib < 10240)
        buf_printf(b, "%.0f MiB", mib);
    else
        buf_printf(b, "%.0f GiB", mib / 1024);
}

void put_us(struct buf *b, const json_t *o, const char *path)
{
    double ms = ctl_f64(o, path) / 1000;

    buf_printf(b, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
}

void view_unit_rates(struct buf *b, const json_t *k, const char *path)
{
    const json_t *list = ctl_member(k, path), *r;
    size_t i;

    if (json_array_size(list) == 0)
        ctl_say(b, k, "{?inherit:pool's|any}");
    json_array_foreach(list, i, r) {
        buf_str(b, i > 0 ? "," : "");
        ctl_say(b, r, "{units=}/{per}");
    }
}

/* ---- YAML ---- */

#define TAG_STR (yaml_char_t *)(uintptr_t)YAML_STR_TAG

static int on_bytes(void *to, unsigned char *p, size_t n)
{
    struct buf *b = to;

    buf_append(b, p, n);
    return !b->failed;
}

static bool emit(yaml_emitter_t *y, int made, yaml_event_t *e)
{
    return made && yaml_emitter_emit(y, e);
}

/* A reader would take it for a number, a truth, nothing or a date. */
static bool seems_other(const char *s)
{
    static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "true", "false",
                                         "null" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return *s == '\0' || (!isalpha((unsigned char)*s) && *s != '/');
}

static bool put_scalar(yaml_emitter_t *y, const char *s, size_t n, bool quoted)
{
    yaml_event_t e;

    return emit(y, yaml_scalar_event_initialize(&e, NULL, quoted ? TAG_STR : NULL,
                                                (yaml_char_t *)(uintptr_t)s, (int)n, !quoted, true,
                                                quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                                       : YAML_ANY_SCALAR_STYLE), &e);
}

static bool put_text(yaml_emitter_t *y, const char *s)
{
    return put_scalar(y, s, strlen(s), seems_other(s));
}

static bool put_value(yaml_emitter_t *y, const json_t *v);

static bool put_map(yaml_emitter_t *y, const json_t *map)
{
    yaml_event_t e;
    const char *key;
    json_t *v;

    if (!emit(y, yaml_mapping_start_event_initialize(&e, NULL, NULL, true, json_object_size(map) > 0
                                                     ? YAML_BLOCK_MAPPING_STYLE
                                                     : YAML_FLOW_MAPPING_STYLE), &e))
        return false;
    json_object_foreach((json_t *)(uintptr_t)map, key, v)
        if (!put_text(y, key) || !put_value(y, v))
            return false;
    return emit(y, yaml_mapping_end_event_initialize(&e), &e);
}

static bool put_list(yaml_emitter_t *y, const json_t *list)
{
    yaml_event_t e;
    const json_t *v;
    size_t i;

    if (!emit(y, yaml_sequence_start_event_initialize(&e, NULL, NULL, true,
                                                      json_array_size(list) > 0
                                                      ? YAML_BLOCK_SEQUENCE_STYLE
                                                      : YAML_FLOW_SEQUENCE_STYLE), &e))
        return false;
    json_array_foreach(list, i, v)
        if (!put_value(y, v))
            return false;
    return emit(y, yaml_sequence_end_event_initialize(&e), &e);
}

static bool put_value(yaml_emitter_t *y, const json_t *v)
{
    char number[40];

    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return put_map(y, v);
    case JSON_ARRAY:
        return put_list(y, v);
    case JSON_STRING:
        return put_text(y, json_string_value(v));
    case JSON_INTEGER:
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        return put_scalar(y, number, strlen(number), false);
    case JSON_REAL:
        snprintf(number, sizeof(number), "%.15g", json_real_value(v));
        return put_scalar(y, number, strlen(number), false);
    case JSON_TRUE:
        return put_scalar(y, "true", 4, false);
    case JSON_FALSE:
        return put_scalar(y, "false", 5, false);
    default:
        return put_scalar(y, "null", 4, false);
    }
}

static bool put_document(yaml_emitter_t *y, const json_t *doc)
{
    yaml_event_t e;

    return emit(y, yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING), &e) &&
           emit(y, yaml_document_start_event_initialize(&e, NULL, NULL, NULL, true), &e) &&
           put_value(y, doc) && emit(y, yaml_document_end_event_initialize(&e, true), &e) &&
           emit(y, yaml_stream_end_event_initialize(&e), &e);
}

bool yaml_put(struct buf *b, const json_t *doc)
{
    yaml_emitter_t y;
    bool ok;

    if (!yaml_emitter_initialize(&y))
        return false;
    yaml_emitter_set_output(&y, on_bytes, b);
    yaml_emitter_set_unicode(&y, true);
    yaml_emitter_set_width(&y, -1);
    ok = put_document(&y, doc);
    yaml_emitter_delete(&y);
    return ok && !b->failed;
}
