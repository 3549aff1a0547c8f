/* fuzz_usage.c: what a hostile target says it used: in whatever pieces its answer comes, the same is read, a
 * number in its range; and whole JSON that has it, is read as jansson reads it. The first byte is the type, the
 * second the size of pieces. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "task/calls/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const types[] = { "application/json", "text/event-stream", "application/x-ndjson", "" };

static bool read_in(const char *type, const uint8_t *p, size_t n, size_t piece, uint64_t *units)
{
    struct usage u;

    memset(&u, 0xa5, sizeof(u));
    usage_begin(&u, "/u/t", type);
    for (size_t at = 0; at < n; at += piece)
        usage_more(&u, p + at, n - at < piece ? n - at : piece);
    return usage_end(&u, units);
}

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* A whole number where there is one, of names without escapes: no two readings. */
static void compare(const uint8_t *p, size_t n, bool known, uint64_t units)
{
    json_error_t e = { 0 };
    json_t *o = json_in((const char *)p, n, &e), *v = json_object_get(json_object_get(o, "u"), "t");

    if (o != NULL && json_is_integer(v) && json_integer_value(v) >= 0 && memchr(p, '\\', n) == NULL) {
        must(known);
        must(units == u64_min((uint64_t)json_integer_value(v), TASK_COST_MAX));
    }
    json_decref(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t whole = 0, other = 0;
    const char *type;
    bool known;

    if (size < 2)
        return 0;
    type = types[data[0] % ARRAY_LEN(types)];
    known = read_in(type, data + 2, size - 2, size, &whole);
    must(read_in(type, data + 2, size - 2, 1 + data[1] % 64, &other) == known && (!known || other == whole));
    must(!known || whole <= TASK_COST_MAX);
    if (data[0] % ARRAY_LEN(types) != 1 && data[0] % ARRAY_LEN(types) != 2)
        compare(data + 2, size - 2, known, whole);
    return 0;
}
