/* def_change.h: definitions as files have them: a list of maps for each kind (`budgets:`,
 * `endpoints:`, `pools:`, `queues:`, as in queuemng.yaml), and what such a map would change. Pure.
 * A key that a file does not have stays as it is. */
#ifndef SEGQ_CTL_DEF_CHANGE_H
#define SEGQ_CTL_DEF_CHANGE_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "queuemng/policy/def_kind.h"

/* JSON as a table reads it; NULL: e says why. cfg_node_free() it. */
struct cfg_node *ctl_node(const json_t *doc, struct err *e);

struct def_change {
    const struct def_kind *kind;
    char *name;           /* owned */
    json_t *was;          /* the whole definition; NULL: it is a new one; owned */
    json_t *keys;         /* keys that get another value, whole lists and maps; owned */
    json_int_t version;   /* version of what was looked at */
};

/* Plans what the map `def` of a file makes of the definition `now` (an answer; NULL: there is
 * none). Errors name file, line and key. 0; ch->keys may be empty. */
SQ_CHECK int def_plan(struct def_change *ch, const struct def_kind *kind, const json_t *now,
                      const struct cfg_node *def, const char *file, struct err *e);
/* Compares two answers; was NULL: it is new, and of `now` the keys count that were given.
 * Version 0. 0; SQ_EINVAL: an answer is no definition; SQ_ENOMEM. */
SQ_CHECK int def_changed(struct def_change *ch, const struct def_kind *kind, const char *name,
                         const json_t *was, const json_t *now, const json_t *given, struct err *e);
void def_change_fini(struct def_change *ch);

/* A line for each value: "queue login: idle.game: 1m -> 3m"; of a new one without the old. */
void def_change_text(struct buf *b, const struct def_change *ch);
/* The same as {kind, name, new, changes: [{key, from, to}]}; from: null if it is new. A new reference; NULL: no memory. */
json_t *def_change_json(const struct def_change *ch);

/* An answer as YAML: a map; with item: as an entry of a list, two blanks further in. */
SQ_CHECK int def_yaml(struct buf *b, const struct def_kind *kind, const json_t *now, bool item,
                      struct err *e);

/* Writes a document as YAML, by libyaml, its members in their order: what is no text as YAML 1.1 reads it
 * is quoted. False: no memory. */
SQ_CHECK bool yaml_put(struct buf *b, const json_t *doc);

#endif
