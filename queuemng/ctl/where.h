/* where.h: where the cluster is, the admin token, the key for claims: from options, the
 * environment, a folder (D/cluster.json, which deploy/local.sh writes), or a context: a cluster
 * that the operator has a name for, in a file:
 *
 *   current: prod
 *   contexts:
 *     - name: prod
 *       admin: [https://mng1:8071, https://mng2:8071]
 *       token_file: /etc/segq/admin.token
 *       cacert: /etc/segq/ca.pem
 *       operator: anna
 *       confirm: true
 *
 * SEGQ_CONFIG names the file; else it is segq/contexts.yaml in XDG_CONFIG_HOME, or in ~/.config.
 * It has no secrets, only names of files that have. A token is read from a file and never from
 * the command line, where every user of the machine could see it.
 *
 * All functions with an int return 0, or a negative sq_err with a sentence. */
#ifndef SEGQ_CTL_WHERE_H
#define SEGQ_CTL_WHERE_H

#include <limits.h>

#include "common/base/err.h"
#include "common/config/cfg.h"
#include "queuemng/ctl_ask/round_trip.h"

#define CONTEXTS_MAX 100

struct context { /* "": not given */
    char *name;
    /* list of char *: addresses, as --admin and --router take them */
    struct cfg_list admin, router;
    char *dir, *token_file, *cacert, *key_file, *operator;
    bool confirm; /* where a name is to be typed before an order, that of the context is, too */
};

struct contexts {
    char file[PATH_MAX]; /* "": there is no place for one */
    char *current;       /* owned; "": none */
    struct cfg_list v;   /* list of struct context; owned */
};

extern const struct cfg_key context_keys[]; /* keys of one */

/* A file that is not there has none. Errors name file, line and key. On error there is nothing to
 * free. */
SQ_CHECK int contexts_load(struct contexts *c, struct err *e);
/* Likewise, for a change: nobody else makes one until the descriptor is closed. Its number, or an
 * error. */
SQ_CHECK int contexts_load_to_change(struct contexts *c, struct err *e);
void contexts_free(struct contexts *c);
/* The file becomes this, whole or not at all; only its owner may read it. */
SQ_CHECK int contexts_save(const struct contexts *c, struct err *e);
struct context *contexts_find(const struct contexts *c, const char *name); /* or NULL */
/* *x: another one, as doc has it. */
SQ_CHECK int contexts_add(struct contexts *c, const struct cfg_node *doc, struct context **x,
                          struct err *e);
void contexts_remove(struct contexts *c, struct context *x);
/* Checks its addresses, and where it finds the cluster: what a table cannot say of it. */
SQ_CHECK int context_check(const struct context *x, struct err *e);

SQ_CHECK int where_add(struct urls *list, const char *url, struct err *e);
/* Fills in what was not given before, from a context. */
SQ_CHECK int where_context(struct ctl *c, const struct context *x, struct err *e);
/* Finds the cluster: by options, the environment, the context in use, ./run. Of tokens and keys one
 * that is given on its own goes before that of a folder or context. */
SQ_CHECK int where_find(struct ctl *c, struct err *e);
void where_fini(struct ctl *c);

#endif
