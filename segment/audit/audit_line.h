/* audit_line.h: what happened to a ticket, and its line of the audit trail. Pure.
 *
 * A line is one JSON object; proto/PROTOCOL.md section 10a says what its members mean. It
 * begins with the time, so that lines can be sorted as text, and names the ticket as
 * `"ticket":"<segment>-<number>"`, which occurs nowhere else: what is escaped has no bare
 * quotes. So looking for a ticket needs no JSON parser (audit.h). */
#ifndef SEGQ_SEG_AUDIT_AUDIT_LINE_H
#define SEGQ_SEG_AUDIT_AUDIT_LINE_H

#include "common/base/base.h"
#include "common/base/text.h"
#include "segment/line/ticket_idx.h"

/* enum, word, and why if it is the same for all of them */
#define AUDIT_EVENTS(X)                                                                  \
    /* events of a ticket */                                                             \
    X(JOINED, "joined", NULL)                                                            \
    X(RELEASED, "released", NULL)                                                        \
    X(ADMITTED, "admitted", NULL)       /* collected its pass */                         \
    X(NO_SHOW, "no_show", "pass_not_collected") /* in the claim window */                \
    X(RETURNED, "returned", NULL)       /* inside the grace: it goes first now */        \
    X(LAPSED, "lapsed", NULL)           /* a no-show that did not come back for good */  \
    X(EXPIRED, "expired", "silent")     /* in line, and did not poll */                  \
    X(LEFT, "left", "asked")                                                             \
    X(EXTENDED, "extended", "backend")  /* a longer session */                           \
    X(REVOKED, "revoked", "backend")                                                         \
    X(FINISHED, "finished", "pass_expired")                                              \
    X(RESTORED, "restored", "polled")   /* node lost, and its owner came back */         \
    /* events of a segment */                                                            \
    X(ABSORBED, "absorbed", NULL)       /* n tickets of `from` wait in it from now on */ \
    X(REMOVED, "removed", NULL)         /* with n waiting and n released in it */        \
    X(REBUILDING, "rebuilding", NULL)   /* node lost: tickets come back */               \
    X(REBUILT, "rebuilt", NULL)         /* unpolled tickets are gone */                  \
    /* events of the trail itself */                                                     \
    X(STARTED, "started", NULL)                                                          \
    X(STOPPED, "stopped", NULL)                                                          \
    X(GAP, "gap", NULL)                 /* n lines are missing here */

enum audit_kind {
#define X(name, word, why) AUDIT_##name,
    AUDIT_EVENTS(X)
#undef X
    AUDIT_NKINDS
};

enum audit_subject { /* how people are named */
    AUDIT_SUBJECT_NONE,
    AUDIT_SUBJECT_HASH, /* keyed: tells persons apart, names none */
    AUDIT_SUBJECT_PLAIN,
};

struct audit_event { /* texts are borrowed; what is 0 or NULL is left out */
    enum audit_kind kind;
    int64_t wall_ms;
    const char *queue, *lane;
    struct ticket_id id; /* id as in the token; seg 0: about no ticket */
    seg_id segment;      /* where it is */
    const char *state;   /* in which it was */
    const char *why;     /* NULL: the kind's own */
    const char *client;
    const char *subject; /* not 0-terminated */
    size_t subject_len;
    uint64_t subject_hash;
    uint64_t tick; /* tick of the release */
    bool again;    /* RELEASED: a no-show that came back */
    int64_t released_ms, expires_s;
    seg_id from;
    uint64_t n, n_released;
    bool has_n;
    int64_t since_ms; /* GAP */
};

/* Six characters for each byte of a subject and of six names, and numbers; the last of these may
 * touch DECIMAL_ROOM bytes. */
#define AUDIT_LINE_MAX (6 * (255 + 6 * NAME_MAX_LEN) + 700 + DECIMAL_ROOM)

const char *audit_kind_name(enum audit_kind k);
/* Into out[AUDIT_LINE_MAX], with its newline; the length. */
SQ_CHECK size_t audit_line(const struct audit_event *e, const char *node,
                           enum audit_subject how, char *out);

#endif
