/* usage.h: what a call took, by its answer: the number at a pointer ("/usage/total_tokens") into the whole of
 * it, or into the last event of a stream that has it, read as it comes. Pure.
 *
 *   text/event-stream        each event (WHATWG, server-sent events: its lines of data) is a text of JSON
 *   application/x-ndjson, jsonl   each line is
 *   others                   all of it is
 *
 * Targets are strangers: pieces end anywhere, a text may be as long and as deep as it likes, and need not be
 * JSON. So nothing is kept but where in it we are: the depth, the names of the pointer that fit so far, a name
 * or a number that is being read. What is no number, below 0, or spelt with escapes in a name that matters is
 * not there; of two the later one counts. */
#ifndef SEGQ_CALLS_USAGE_H
#define SEGQ_CALLS_USAGE_H

#include "common/task/rules.h"

#define USAGE_NUMBER 64 /* bytes of a number; a longer one is none */

enum usage_kind { USAGE_NONE, USAGE_WHOLE, USAGE_LINES, USAGE_EVENTS };

struct usage {
    uint8_t kind; /* enum usage_kind */
    bool known;   /* `units` is the newest that a whole text has said */
    uint64_t units;
    char pointer[COST_POINTER_MAX + 1];
    struct usage_line { /* EVENTS: the line that is read */
        uint8_t n;      /* bytes of its field's name that are "data" so far; */
        bool other;     /* another field */
        bool value;     /* behind the colon */
        bool empty;     /* nothing of it has come */
        bool cr;        /* the byte before was a CR: a LF belongs to it */
    } line;
    struct usage_text { /* the text of JSON that is read */
        uint32_t depth;    /* objects and lists that are open */
        uint32_t level;    /* depth of the object whose names are looked at, */
        uint16_t at;       /* for the one that begins here in `pointer` */
        uint16_t read;     /* bytes of a name that fit */
        bool string, escape, name; /* in a string; behind a backslash; the string is a name of that object */
        bool wants_name;   /* a name of it comes next */
        bool fits;         /* the name does, so far */
        bool value;        /* the value behind the name that fits comes next */
        bool found;
        uint64_t units;
        uint8_t n;         /* bytes of the number that is read */
        char number[USAGE_NUMBER];
    } text;
};

/* pointer "": nothing is read. type: Content-Type of the answer. */
void usage_begin(struct usage *u, const char *pointer, const char *type);
void usage_more(struct usage *u, const void *p, size_t n);
/* The answer is whole. False: it has not said it. */
bool usage_end(struct usage *u, uint64_t *units);

#endif
