/* gate_def.h: exemptions from a queue's waiting room in front of the service (GET /v1/verify),
 * and the sessions that may last longer than a pass. Pure. A part of the queue's definition at
 * queuemng; the rules travel to routers as the JSON of this table, so both read and check them
 * alike. */
#ifndef SEGQ_GATE_DEF_H
#define SEGQ_GATE_DEF_H

#include "common/config/cfg.h"

#define GATE_ADDRESSES_MAX 256
#define GATE_PATHS_MAX     64
#define GATE_HEADERS_MAX   16
#define GATE_SUBJECTS_MAX  256
#define GATE_TEXT_MAX      8000        /* bytes of all of them together */
#define GATE_JSON_MAX      (64 * 1024) /* for a queue, in the map */

struct gate_header {
    char *name;
    char *value; /* "": it is enough that it is there */
};

struct gate_bypass {
    struct cfg_list addresses; /* char *: addresses and networks */
    struct cfg_list paths;     /* char *: whole parts of a path: /static, /static/ */
    struct cfg_list headers;   /* struct gate_header */
    struct cfg_list subjects;  /* char * */
};

struct gate_def {
    struct gate_bypass bypass;
    double rollout; /* percent of people who go through the room; 100 = everybody */
};

extern const struct cfg_key gate_bypass_keys[];

/* After cfg_bind. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int gate_def_check(const struct gate_def *d, struct err *e);
/* Everybody goes through the room. */
bool gate_def_is_empty(const struct gate_def *d);
/* The JSON to send; nothing if empty. False: no memory, or above GATE_JSON_MAX. */
SQ_CHECK bool gate_def_write(struct buf *b, const struct gate_def *d);
/* Back; d zeroed or set before. Keys of a newer manager are passed over. */
SQ_CHECK int gate_def_read(struct gate_def *d, const char *json, size_t n, struct err *e);
void gate_def_fini(struct gate_def *d);

/* A rule's path: begins with /, and is what it looks like: no escapes, no dots as a part,
 * no doubled slashes, no query. */
bool gate_path_ok(const char *s);

#endif
