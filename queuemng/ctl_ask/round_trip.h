/* round_trip.h: one run of segqctl, asking, and printing the answer.
 *
 * A run is one command: one HTTP request (or a few), one answer printed. Everything blocks, with
 * a limit on the time of each request; the process then ends. All functions with an int return
 * enum ctl_exit, and have printed the error. */
#ifndef SEGQ_CTL_ROUND_TRIP_H
#define SEGQ_CTL_ROUND_TRIP_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "queuemng/ctl_ask/http.h"
#include "queuemng/ctl_view/columns.h"

#define CTL_URLS_MAX 32

enum ctl_exit { CTL_OK = 0, CTL_REFUSED = 1, CTL_USAGE = 2 };

enum ctl_form {
    FORM_TABLE, /* for people */
    FORM_JSON,  /* the answer as it came */
    FORM_YAML,  /* the same */
};

enum colours_when { COLOURS_AUTO, COLOURS_ALWAYS, COLOURS_NEVER };

struct urls {
    char *v[CTL_URLS_MAX]; /* owned: "http://host:port", or https */
    size_t n;
};

struct ctl {
    const struct cmd *cmd;        /* command that is run (ctl/commands.h) */
    struct urls admins;           /* any of the managers */
    struct urls routers;          /* asked in turn until one answers */
    char *token;                  /* owned: the admin token; never from argv */
    char *key_file;               /* owned: signs claims; NULL = not given */
    char *server_token;           /* owned: file of the token of a server that submits; NULL = not given */
    /* options, which where() reads; or NULL */
    const char *dir, *token_file, *sign_key, *use_context;
    const char *client, *subject, *claim; /* for join; NULL = not given */
    const char *lane, *replaces, *kid;    /* for a claim; NULL = not given */
    const char *task, *task_key, *priority; /* for a claim to submit a task; likewise */
    unsigned ttl_s;                       /* for a claim */
    const char *file;  /* file of definitions, for apply, diff; NULL = not given */
    const char *payload; /* file of a payload, for task redrive; NULL = not given */
    const char *label; /* label of tasks: those that have it; NULL = any, or none */
    const char *order; /* order of a list of tasks; NULL = none */
    const char *name, *since; /* for a list of tasks, as `until`; NULL = none */
    const char *html, *vary, *find, *from_audit, *costs; /* for rehearse; NULL = not given */
    const char *server_token_file; /* for task import; NULL = not given */
    const char *role, *queues, *pools, *until; /* for token add; NULL = not given */
    const char *user, *email, *group; /* likewise: whom a proxy has signed in */
    bool force;                   /* cancels also what runs */
    bool running, keep_going, ids; /* task export: those, too; task import: beyond bad lines; print ids */
    bool dry_run;                 /* only says what it would change */
    enum ctl_form form;           /* form of answers */
    enum colours_when colours;
    bool help, version;           /* are all that is wanted */
    bool all;                     /* status: leave nothing out */
    bool yes;                     /* do not ask before what cannot be undone */
    unsigned timeout_s;           /* seconds of a request */
    unsigned for_s;               /* measure: seconds; 0 = not given */
    unsigned every_s, count;      /* watch, top: between pictures; of them; 0 = not given */
    const char *cacert;           /* authorities for https; NULL = those of the system */
    char *own_cacert;             /* owned: cacert, if it is a context's; else NULL */
    /* owned: the context's name, if it is one to be careful in; else NULL */
    char *context;
    char *operator;               /* owned: the operator's name, of a context; NULL = none */
};

/* Asks the leading manager (/v1/admin/...), whose address the others know, or any router that
 * answers. CTL_OK: it answered, with whatever status; the caller frees a->body. Else the error has
 * been printed. */
int ctl_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a);
/* The answer of the leading manager to a GET of a path without `*`, if an address and a token
 * are given; says nothing. New reference; NULL: it cannot be had. */
json_t *ctl_look(const struct ctl *c, const char *path);

json_t *ctl_json(const struct ctl_answer *a); /* new reference; NULL: it is none */

typedef ctl_view *view_fn; /* doc is NULL if the answer is empty (204) */

/* Prints "segqctl: ..." to standard error, without what could steer a terminal; returns code. */
int ctl_fail(int code, const char *fmt, ...) SQ_PRINTF(2, 3);
int ctl_say_err(const struct err *e, int code); /* the same of its sentence */
int ctl_usage(const char *words, const char *takes); /* prints what a command takes: CTL_USAGE */
/* To standard output, at once. If its reader is gone the process ends here, quietly; any other
 * failure is printed and ends the process, too. */
void ctl_put_out(const struct buf *b);
void ctl_put_end(void); /* writes what stdio still has; ends the process as ctl_put_out() does */
void ctl_print(view_fn view, const json_t *doc);
void ctl_tell(const json_t *doc, const char *sentence); /* to standard output, by ctl_say() */

int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view);
/* A document that is made here, in the form that is wanted; CTL_OK. */
int ctl_say_doc(const struct ctl *c, const json_t *doc, view_fn view);
/* True: it answers an order that some partitions did not hear: it is not done. */
bool ctl_order_missed(const json_t *doc);
int ctl_say_missed(void); /* says so; CTL_REFUSED */
/* Asks, and prints it; CTL_REFUSED also for an order that did not reach all. */
int ctl_do(const struct ctl *c, struct ctl_call call, view_fn view);
/* The answer as JSON, new reference. NULL: *rc is the exit code; the answer is printed if it was
 * wanted as it came (-o json, yaml), or is a refusal. */
json_t *ctl_fetch(const struct ctl *c, struct ctl_call call, int *rc);
/* The answer is printed; also JSON, new reference. NULL: *rc is the exit code. */
json_t *ctl_show(const struct ctl *c, struct ctl_call call, view_fn view, int *rc);
/* GET for a further step: only a refusal is printed. name: as in struct ctl_call. */
json_t *ctl_get(const struct ctl *c, const char *path, const char *name, int *rc);
/* Says that no queue has this name, and which may be meant. CTL_REFUSED */
int ctl_say_no_queue(const struct ctl *c, const char *name);

#endif
