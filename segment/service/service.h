/* service.h: a segment node: segtab (the brain) between its links. Shell.
 *
 *   routers ---\                        /--- queuemng (dialled, all of them)
 *               >--- rpc --- segtab ---<
 *   segments --/   (listen)             \--- segments (dialled while a move wants them)
 *
 * Batches of routers are answered inside the turn that read them, in one write per router.
 * Everything else is one segtab_step(), whose outbox is sent before anything else happens.
 *
 * Failures, and what follows (of links: node.h):
 *   all managers unreachable        polls, joins and leaves go on; nothing is released
 *   what was done cannot be kept    the turn's answers are not sent; journal.h
 *   the journal cannot be read      the process does not start, and says why */
#ifndef SEGQ_SEG_SERVICE_SERVICE_H
#define SEGQ_SEG_SERVICE_SERVICE_H

#include "common/node/node.h"

struct seg_cfg { /* the configuration of a segment node */
    struct node_cfg node; /* first: node_cfg_check() */
    char *pass_key_file;
    char *audit_dir;   /* "": none */
    int audit_subject; /* enum audit_subject */
    int64_t audit_keep_days, audit_buffer;
    int64_t max_tickets, max_segments;
};

extern const struct cfg_key seg_cfg_keys[];

struct seg_service;

struct seg_service_opts {
    const struct seg_cfg *cfg;         /* read during seg_service_new() only */
    const struct pass_key *pass;       /* ref, must outlive */
    struct node_opts node;
};

/* Listens and dials. */
SQ_CHECK int seg_service_new(struct seg_service **out, struct ev *ev,
                             const struct seg_service_opts *o, struct err *e);
/* Not from inside a callback. */
void seg_service_free(struct seg_service *s);
/* Accepts nobody new, answers what is on its way, then calls node_opts.on_gone. */
void seg_service_stop(struct seg_service *s);
void seg_service_reload(struct seg_service *s, const struct seg_cfg *c);

#endif
