/* fields_int.h: what the walks of a table have in common. */
#ifndef SEGQ_FIELDS_INT_H
#define SEGQ_FIELDS_INT_H

#include <assert.h>
#include <string.h>

#include "common/wire/fields.h"
#include "common/wire/number.h"

void fields_find_row(const struct fields *t, unsigned i);

/* The row of the table for the i-th field, which is looked for once in the life of a process. */
static inline unsigned fields_row(const struct fields *t, unsigned i)
{
    if (SQ_UNLIKELY(t->order[i] == 0))
        fields_find_row(t, i);
    return t->order[i] - 1u;
}

static inline uint64_t number(const char *p, unsigned width, bool is_signed)
{
    uint64_t v = load(p, width);

    assert(!is_signed || width >= 4);
    return is_signed && width == 4 ? (uint64_t)(int64_t)(int32_t)(uint32_t)v : v;
}

static inline void *pointer(const char *p)
{
    void *v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void point(char *p, const void *to)
{
    memcpy(p, &to, sizeof(to));
}

/* Our array: its elements, and how many they are. */
static inline char *array_of(const struct field *f, const char *s)
{
    return f->in_place ? (char *)(uintptr_t)(s + f->off) : pointer(s + f->off);
}

static inline size_t elements(const struct field *f, const char *s)
{
    return f->n_width != 0 ? load(s + f->n, f->n_width) : f->most;
}

static inline uint64_t least_of(const struct field *f)
{
    return f->n_width != 0 ? f->least : f->most;
}

static inline bool is_addr(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
            return false;
    return true;
}

#endif
