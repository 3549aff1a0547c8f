/* json_point.h: a value within JSON by its pointer (RFC 6901), and values of one JSON put into
 * another: each object {"$result": "POINTER"} of a form is replaced by the value at that pointer of
 * a result, byte for byte. Pure.
 * What is read is not changed: pointers and names are decoded in copies. */
#ifndef SEGQ_JSON_POINT_H
#define SEGQ_JSON_POINT_H

#include "common/base/buf.h"
#include "common/json/json_scan.h"

#define JSON_POINTER_MAX 256 /* bytes of a pointer, decoded */
#define JSON_HOLE        "$result"
#define JSON_HOLES_MAX   64 /* in a form: each is a walk through the result */

enum json_point { /* numbers are those of records and of the wire: never changed */
    JSON_POINT_FOUND,
    JSON_POINT_NO_JSON,  /* the text is none, or nested too deeply */
    JSON_POINT_NOTHING,  /* nothing is there */
    JSON_POINT_TWICE,    /* two members have the name: readers differ in which of them counts */
    JSON_POINT_LONG,     /* more bytes than are allowed, or no memory */
};

/* The bytes of the value at the pointer, as they stand in `text`. Strings are compared decoded. */
enum json_point json_point(struct slice text, struct slice pointer, struct slice *value);

/* The same of a text of which there is the begin alone: what is cut off at its end is not there. */
enum json_point json_point_begin(struct slice text, struct slice pointer, struct slice *value);

/* How many holes the form has: JSON that is whole. -1: one of them is none, or they are too many: *why
 * says so. */
int json_holes(struct slice form, const char **why);
/* Appends the form, with the result's values in its holes; at most `most` bytes. */
enum json_point json_fill(struct slice form, struct slice result, size_t most, struct buf *out);

#endif
