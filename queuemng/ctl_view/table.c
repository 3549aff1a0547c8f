/* table.c: see the header. */
#include "queuemng/ctl_view/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "queuemng/ctl_view/colour.h"
#include "queuemng/ctl_view/text.h"

static void cell_end(struct table *t, size_t from)
{
    size_t col = t->n_cells % t->n_cols, len;

    assert(from <= t->text.len);
    buf_byte(&t->text, 0);
    if (t->text.failed)
        return;
    len = t->text.len - from - 1;
    if (len > t->width[col])
        t->width[col] = len;
    t->n_cells++;
}

void table_init(struct table *t, const char *heads)
{
    memset(t, 0, sizeof(*t));
    buf_init(&t->text);
    for (const char *p = heads; *p != '\0'; p++)
        t->n_cols += *p == ' ';
    t->n_cols++;
    assert(t->n_cols <= TABLE_COLS);
    for (size_t i = 0; i < t->n_cols; i++) {
        size_t len, from = t->text.len;

        t->right[i] = *heads == '>';
        heads += t->right[i];
        len = strcspn(heads, " ");
        buf_append(&t->text, heads, len);
        cell_end(t, from);
        heads += len + (heads[len] == ' ');
    }
}

void table_fini(struct table *t)
{
    buf_fini(&t->text);
}

void table_cell(struct table *t, const char *fmt, ...)
{
    char s[512];
    size_t from = t->text.len;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s, sizeof(s), fmt, ap);
    va_end(ap);
    ctl_clean(&t->text, s);
    cell_end(t, from);
}

void table_u64(struct table *t, uint64_t v)
{
    size_t from = t->text.len;

    ctl_count(&t->text, v);
    cell_end(t, from);
}

size_t table_rows(const struct table *t)
{
    return t->n_cells / t->n_cols - 1;
}

static void pad(struct buf *b, size_t n)
{
    while (n-- > 0)
        buf_byte(b, ' ');
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

void table_print(const struct table *t, struct buf *b, size_t indent)
{
    const char *head[TABLE_COLS] = { 0 };
    const char *s = (const char *)t->text.data;

    assert(t->n_cells % t->n_cols == 0 || t->text.failed); /* whole rows */
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t col = i % t->n_cols, len = strlen(s), gap = t->width[col] - len;
        bool last = col == t->n_cols - 1;

        if (i < t->n_cols)
            head[col] = s;
        pad(b, col == 0 ? indent : 2);
        if (t->right[col])
            pad(b, gap);
        colour_put(b, i < t->n_cols ? COLOUR_BOLD : cell_colour(head[col], s), s);
        if (!t->right[col] && !last)
            pad(b, gap);
        if (last)
            buf_byte(b, '\n');
        s += len + 1;
    }
}

void table_put(struct buf *b, struct table *t, const char *none)
{
    if (table_rows(t) > 0)
        table_print(t, b, 0);
    else
        buf_str(b, none);
    table_fini(t);
}
