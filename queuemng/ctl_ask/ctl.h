/* ctl.h: one run of segqctl: its addresses, token and options.
 *
 * A run is one command: one HTTP request (or a few), one answer printed. Everything blocks,
 * with a limit on the time of each request; the process then ends. */
#ifndef SEGQ_CTL_CTL_H
#define SEGQ_CTL_CTL_H

#include "common/base/base.h"

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
    struct urls admins;           /* any of the managers */
    struct urls routers;          /* asked in turn until one answers */
    char *token;                  /* owned: the admin token; never from argv */
    char *key_file;               /* owned: signs claims; NULL = not given */
    const char *dir, *token_file, *sign_key, *use_context; /* options, which where() reads; or NULL */
    const char *client, *subject, *claim; /* for join; NULL = not given */
    const char *lane, *replaces, *kid;    /* for a claim; NULL = not given */
    const char *task, *task_key, *priority; /* for a claim to submit a task; likewise */
    unsigned ttl_s;                       /* for a claim */
    const char *file;  /* file of definitions, for apply, diff; NULL = not given */
    const char *label; /* label of tasks: those that have it; NULL = any, or none */
    bool force;        /* cancels also what runs */
    bool dry_run;                 /* only says what it would change */
    enum ctl_form form;           /* form of answers */
    enum colours_when colours;
    bool help, version;           /* are all that is wanted */
    bool all;                     /* status: leave nothing out */
    bool yes;                     /* do not ask before what cannot be undone */
    unsigned timeout_s;           /* seconds of a request */
    unsigned every_s, count;      /* watch, top: between pictures; of them; 0 = not given */
    const char *cacert;           /* authorities for https; NULL = those of the system */
    char *own_cacert;             /* owned: cacert, if it is a context's; else NULL */
    char *context;                /* owned: the context's name, if it is one to be careful in; else NULL */
    char *operator;               /* owned: the operator's name, of a context; NULL = none */
};

#endif
