/* segqctl.h: the operator's command line: what its files share.
 *
 * A run is one command: one HTTP request (or a few), one answer printed. Everything is
 * blocking, with a limit on the time of each request; the process then ends. */
#ifndef SEGQ_SEGQCTL_H
#define SEGQ_SEGQCTL_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/err.h"

#define CTL_ROUTERS_MAX  32
#define CTL_MANAGERS_MAX 16

enum ctl_exit { CTL_OK = 0, CTL_REFUSED = 1, CTL_USAGE = 2 };

struct ctl {
    char *admin[CTL_MANAGERS_MAX]; /* owned: "http://host:port"; any of the managers */
    size_t n_admins;
    char *token;                   /* owned: the admin token; never from argv */
    char *router[CTL_ROUTERS_MAX]; /* owned; asked in turn until one answers */
    size_t n_routers;
    const char *client, *subject, *claim; /* of join; NULL = not told */
    bool json;                    /* print answers as they came */
    bool all;                     /* status: leave nothing out */
    bool yes;                     /* do not ask before what cannot be taken back */
    unsigned timeout_s;           /* of one request */
};

/* ---- segqctl_where.c: whom to ask. 0, or a sentence about what is missing. */
SQ_CHECK int where_dir(struct ctl *c, const char *dir,
                       struct err *e); /* D/cluster.json */
SQ_CHECK int where_token_file(struct ctl *c, const char *file, struct err *e);
SQ_CHECK int where_admin(struct ctl *c, const char *url, struct err *e); /* one more */
SQ_CHECK int where_router(struct ctl *c, const char *url, struct err *e); /* one more */
void where_fini(struct ctl *c);

/* ---- segqctl_http.c: one request. */
struct ctl_call {
    const char *method;        /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;          /* encoded, with its query */
    const char *bearer;        /* NULL = none */
    const char *if_none_match, *if_match; /* NULL = none */
    const char *body;          /* JSON; NULL = none */
};
struct ctl_answer {
    int status;
    struct buf body; /* owned by the caller, also after a failure */
};
/* 0, or SQ_EUNAVAIL (nobody is there: it was not asked), SQ_ECLOSED, SQ_ETIMEOUT (it may
 * have done what it was asked), SQ_EINVAL with a sentence. */
SQ_CHECK int ctl_http(const char *base, const struct ctl_call *call, unsigned timeout_s,
                      struct ctl_answer *a, struct err *e);

/* ---- segqctl_ask.c: asking, and saying what was answered. All return enum ctl_exit. */
typedef void (*view_fn)(struct buf *b, const json_t *doc);
int ctl_say_err(const struct err *e, int code); /* code */
/* The first router that answers; a->body is the caller's. */
int ctl_router_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
int ctl_too_long(const char *name); /* CTL_USAGE */
/* To standard output, at once. Nobody reads it any more: the process ends here, quietly; any
 * other failure is said, and ends it, too. */
void ctl_put_out(const struct buf *b);
void ctl_put_end(void); /* what stdio still has; ends the process as ctl_put_out() does */
/* A name inside a path; false if all together is too long. */
bool ctl_path_set(char *dst, size_t cap, const char *before, const char *name,
                  const char *after);
int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view);
/* Of several managers the one that leads, whom the others know. CTL_OK: it answered,
 * whatever it answered; the caller frees a->body. */
int ctl_admin_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
int ctl_admin_do(const struct ctl *c, struct ctl_call call,
                 view_fn view); /* and says it */
int ctl_router_do(const struct ctl *c, struct ctl_call call, view_fn view);
/* METHOD of /v1/admin/queues/NAME and what comes behind it; body NULL: none. */
int ctl_queue_do(const struct ctl *c, const char *method, const char *name,
                 const char *after, const char *body, view_fn view);
/* GET of a path as JSON, new reference. NULL: what went wrong is said, and *rc is the exit. */
json_t *ctl_admin_json(const struct ctl *c, const char *path, int *rc);

/* ---- segqctl_sure.c: what cannot be taken back is asked first. */
/* CTL_OK: go on. what: sentences about what will happen; name: to be typed. */
int ctl_sure(const struct ctl *c, const struct buf *what, const char *name);
int cmd_flush(struct ctl *c, int argc, char **argv);
int cmd_reject(struct ctl *c, int argc, char **argv);
int cmd_queue_delete(struct ctl *c, int argc, char **argv);
int cmd_queue_restore(struct ctl *c, int argc, char **argv);

/* ---- segqctl_node.c: segment nodes. */
int cmd_drain(struct ctl *c, int argc, char **argv);
int cmd_undrain(struct ctl *c, int argc, char **argv);
int cmd_forget(struct ctl *c, int argc, char **argv);

/* ---- segqctl_steer.c: commands, for the table. */
int cmd_message(struct ctl *c, int argc, char **argv);
int cmd_rate(struct ctl *c, int argc, char **argv);
int cmd_max(struct ctl *c, int argc, char **argv);
int cmd_tiers(struct ctl *c, int argc, char **argv);
int cmd_audit(struct ctl *c, int argc, char **argv);
int cmd_events(struct ctl *c, int argc, char **argv);

/* ---- segqctl_cmd.c: the commands. argv[0] is the command's name. Returns enum ctl_exit.
 */
int cmd_run(struct ctl *c, int argc, char **argv);
void cmd_help(struct buf *b); /* the list of them */

/* ---- segqctl_draw.c */
int cmd_draw(struct ctl *c, int argc, char **argv);

#endif
