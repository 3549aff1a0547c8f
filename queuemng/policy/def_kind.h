/* def_kind.h: the kinds of definitions that operators write, as rows of one table: queues of people,
 * pools of task queues, endpoints, budgets, routes of calls, pinned keys. Pure.
 *
 * A row says what every user of a definition has to know of its kind: its words, its paths, its table of
 * keys with the struct that they fill, the check of what a table cannot say, where its limits by metrics
 * are. So configuration, store, admin API and segqctl walk over rows and name no kind. The first member of
 * each struct is its name (char *). */
#ifndef SEGQ_QUEUEMNG_POLICY_DEF_KIND_H
#define SEGQ_QUEUEMNG_POLICY_DEF_KIND_H

#include "common/config/cfg.h"
#include "common/task/rules.h"

struct def_kind {
    const char *word, *words; /* "queue"; "queues", the key of their list in files and answers */
    const char *all, *one;    /* paths of the admin API; `*` stands for the name */
    const char *name;         /* the key that has the name */
    const struct cfg_key *keys;
    size_t size;
    int (*check)(const void *def, struct err *e); /* 0 or SQ_EINVAL with a sentence */
    size_t limits;            /* offset of its list of struct def_limit; 0: it has none */
    size_t scope;             /* offset of the text within which its name is one (a key's queue); 0: none */
};

/* In the order in which they are made: endpoints name budgets, pools and routes endpoints. */
enum def_kind_no { DEF_BUDGET, DEF_ENDPOINT, DEF_POOL, DEF_QUEUE, DEF_ROUTE, DEF_FILE_END, DEF_PIN,
                   DEF_NKINDS };
/* By enum def_kind_no. Those that a file may list end with word == NULL (DEF_FILE_END). */
extern const struct def_kind def_kinds[DEF_NKINDS];
#define DEF_SIZE_MAX 1024 /* bytes of the largest struct */
/* By either word; NULL: none. */
const struct def_kind *def_kind_of(const char *word);
static inline const char *def_name(const void *def)
{
    return *(char *const *)def;
}
/* The name with its scope, "QUEUE:KEY" (a queue's name has no colon), or the name alone: no other
 * definition of the kind has it. */
#define DEF_NAME_MAX (TASK_NAME_MAX + KEY_TEXT_MAX + 1)
void def_full_name(const struct def_kind *k, const void *def, char out[DEF_NAME_MAX + 1]);
bool def_is_named(const struct def_kind *k, const void *def, const char *full_name);

/* Writes its keys as JSON, for the store, the admin API and segqctl. New reference; NULL: no memory. */
struct json_t *def_keys_json(const void *def, const struct cfg_key *keys);

#endif
