/* json_row.h: structs as JSON, and JSON as structs, by one list of their fields: so that what is
 * written and what is read cannot disagree.
 *
 * A row is an object with named members, or an array whose columns stand in the order of the
 * list. Members and columns that the list does not have are passed over. */
#ifndef SEGQ_QUEUEMNG_STATE_JSON_ROW_H
#define SEGQ_QUEUEMNG_STATE_JSON_ROW_H

#include "common/config/cfg.h"

struct json_t;

enum json_row_kind {
    ROW_UINT, /* unsigned, of 1, 4 or 8 bytes; its value is below 2^63 */
    ROW_TIME, /* int64_t */
    ROW_FLAG, /* bool, as 0 or 1 */
    ROW_BOOL, /* bool, as false or true */
    ROW_TEXT, /* char[]; a longer text is refused */
    ROW_HEX,  /* uint8_t[] */
    ROW_KEYS, /* struct pass_others, as hex */
};

struct json_row_field {
    const char *name; /* name of an array's column: for readers of the list */
    enum json_row_kind kind;
    bool optional; /* may be missing; then the struct's field stays as it is */
    size_t at, size;
};

struct json_row {
    const struct json_row_field *field;
    size_t n;
    bool array;
};

#define ROW_FIELD(name_, kind_, type, member) \
    { .name = name_, .kind = kind_, .at = offsetof(type, member), \
      .size = sizeof(((type *)0)->member) }
#define ROW_OPTIONAL(name_, kind_, type, member) \
    { .name = name_, .kind = kind_, .at = offsetof(type, member), \
      .size = sizeof(((type *)0)->member), .optional = true }
#define ROW_LIST_(is_array, ...) \
    { .field = (const struct json_row_field[]){ __VA_ARGS__ }, .array = is_array, \
      .n = sizeof((struct json_row_field[]){ __VA_ARGS__ }) / sizeof(struct json_row_field) }
#define ROW_OBJECT(...) ROW_LIST_(false, __VA_ARGS__)
#define ROW_ARRAY(...)  ROW_LIST_(true, __VA_ARGS__)

/* NULL: no memory. */
struct json_t *json_row_write(const struct json_row *r, const void *data);
/* n of them, `size` bytes each, as an array of rows. */
struct json_t *json_rows_write(const struct json_row *r, const void *v, size_t n, size_t size);
/* SQ_EPROTO: j (NULL ok) is no such row; the struct may be half filled. */
SQ_CHECK int json_row_read(const struct json_row *r, const struct json_t *j, void *data);

/* An operator's definition (a table of cfg_key.h) as JSON, for the store and for the admin API.
 * NULL: no memory. */
struct json_t *def_json(const void *def, const struct cfg_key *keys);
/* Reads what is stored under `key`; def is zeroed memory, and the caller's to clear, whatever comes. A
 * key of a newer version is passed over. */
SQ_CHECK int def_from_json(void *def, size_t size, const struct cfg_key *keys,
                           const struct json_t *j, const char *key, struct err *e);

#endif
