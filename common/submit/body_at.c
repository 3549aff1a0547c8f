/* body_at.c: see the header. */
#include "common/submit/body_at.h"

#include <string.h>

#include "common/json/json_point.h"

static bool is_deep(struct slice body)
{
    struct json_scan s;

    json_scan_init(&s, body);
    return !json_scan_value(&s, &body) && s.deep;
}

enum body_at body_at(struct slice body, uint64_t length, const char *pointer, struct slice *raw)
{
    struct slice p = { (char *)(uintptr_t)pointer, strlen(pointer) };
    enum json_point rc = length > body.n ? json_point_begin(body, p, raw) : json_point(body, p, raw);

    switch (rc) {
    case JSON_POINT_FOUND:
        return AT_FOUND;
    case JSON_POINT_TWICE:
        return AT_TWICE;
    case JSON_POINT_NO_JSON:
        return length <= body.n && is_deep(body) ? AT_DEEP : AT_NOTHING;
    default:
        return AT_NOTHING;
    }
}
