/* queue_def.h: what an operator says about one queue; from queuemng.yaml (`queues:`) and
 * from the admin API, through the same table. Pure. */
#ifndef SEGQ_QUEUE_DEF_H
#define SEGQ_QUEUE_DEF_H

#include "common/config/gate_def.h"
#include "common/config/page_def.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/policy/schedule.h"

enum def_state { /* words: open paused closed passthrough reject */
    DEF_OPEN,
    DEF_PAUSED,      /* no entry */
    DEF_CLOSED,      /* no joins; people who wait are let in */
    DEF_PASSTHROUGH, /* no pass is needed; people who wait are let in as fast as possible */
    DEF_REJECT,      /* no joins, no entry; places are kept */
};
extern const char *const def_state_names[]; /* ends with NULL */
extern const char *const def_mode_names[];
extern const char *const def_challenge_names[]; /* by enum challenge_mode */

enum def_mode { MODE_RATE, MODE_SLOTS, MODE_BOTH };            /* rate slots both */
enum def_renew { RENEW_OFF, RENEW_ON };                       /* off on */
enum def_sharing { SHARE_WEIGHT, SHARE_STRICT };              /* weight strict */

struct def_lane {
    char *name;
    int64_t weight; /* 1..1000; share of the releases while lanes have waiters */
};

struct def_idle {
    int64_t game_ms, mobile_ms, browser_ms;
};

struct def_challenge { /* work that a join costs while many come */
    int mode; /* enum challenge_mode; words: off auto on */
    int64_t from_joins_per_s, per_address; /* 0: turns nothing on */
    char *cost; /* "auto", or how many keys are tried at most */
    char *verify_url; /* a service that tells people from programs, in place of work; "": none */
    struct cfg_list verify_allow; /* char *: networks that it may be in */
    int verify_fallback; /* enum verify_fallback; words: work let_in refuse */
};
extern const char *const def_suspects_names[]; /* by enum suspects_mode */

struct def_turn { /* people who are told that their turn has come */
    char *queue; /* queue of an endpoint's pool; "": nobody is told */
    int64_t soon_ms;  /* estimate at which they are told once before; 0: not */
    int64_t claim_ms; /* time to come for these people */
    char *push_key; /* the waiting page has a button for Web Push with this VAPID key; "": none */
    char *push_contact; /* mailto: or https: of whoever runs this: routers send Web Push themselves; "": not */
    int field;      /* enum turn_field: what the page asks for in a field */
};

struct queue_def {
    char *name;
    int state;              /* enum def_state */
    struct schedule_def when;
    struct cfg_list lanes;  /* struct def_lane; empty = one lane "default" */
    int sharing;            /* enum def_sharing */

    /* release */
    int mode;               /* enum def_mode: by rate, by free slots, or whichever is less */
    bool shadow;            /* everybody is let in at once; the line is played beside it */
    int64_t max_active;     /* slots: people inside at once, at most; 0 only if mode is rate */
    double release_per_s;   /* > 0: fixed rate, limits are not looked at; 0: by limits */
    struct cfg_list limits; /* struct def_limit; all are evaluated, the smallest wins */
    double fallback_per_s;  /* while a metric of a limit is missing, stale or absurd */
    double hysteresis;      /* in the metric's unit: how far below a border before rising */
    double no_show_boost;   /* by rate: over-release for no-shows, by at most this factor */
    struct budget_member budget; /* shared with others */
    double max_rise_per_s;  /* slew: the rate may grow by this much per second; 0 = at once */

    int64_t segment_capacity;
    double open_next_at;    /* 0.1..1: the tail's fill at which the successor is opened */
    bool merge;             /* merge sparse sealed neighbours */
    bool direct_entry;      /* a join that can be let in at once is answered with its pass */
    int64_t max_waiting;    /* 0 = no limit; above: 503 queue_full */

    struct def_idle idle;
    int64_t claim_ms, grace_ms, pass_ttl_ms;
    int renew;                              /* enum def_renew */
    int64_t session_idle_ms;                /* 0: pass_ttl; see queue_idle_ms() */
    int64_t session_max_ms; /* longest life of a renewed or extended session, from the release */
    int64_t poll_min_ms, poll_max_ms;
    int64_t poll_budget_per_s;
    int64_t away_ms;      /* a called person whose poll is this late is skipped; 0 = never */
    int64_t position_cap; /* places further back are not told; 0 = all are */
    struct page_def page; /* the waiting page's words and looks */
    char *message; /* the operator's word of the moment to waiting people: page, answers */
    struct gate_def gate; /* exemptions from the room, the rollout, sliding sessions */
    struct def_challenge challenge;
    int suspects; /* enum suspects_mode; words: off watch challenge reject */
    int64_t suspects_from, suspects_places; /* score of a suspect; places of a prefix that are usual */
    int bind; /* enum queue_bind; words: none device */
    struct def_turn turn;
};

extern const struct cfg_key queue_def_keys[];

/* After cfg_bind: what a table cannot say (lane names differ, tiers ascend, claim within
 * pass, ...). 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int queue_def_check(const struct queue_def *d, struct err *e);
/* Says whether `said` of a definition has translations of the message. */
bool queue_def_says_messages(const struct cfg_node *said);
/* Translations of another message would go on being shown beside it: a message that differs from the old
 * one takes them away, unless its own are said with it. d: old with what is said put in. */
SQ_CHECK int queue_def_drop_messages(struct queue_def *d, const struct queue_def *old,
                                     const struct cfg_node *said, struct err *e);

/* enum challenge_mode: AUTO only if something can turn it on. */
uint32_t queue_challenge_mode(const struct queue_def *d);
/* Keys that are tried at most; 0: auto. */
uint32_t queue_challenge_keys(const struct queue_def *d);

/* Time that a renewed session lasts without a request; 0: it is not renewed. */
static inline int64_t queue_idle_ms(const struct queue_def *d)
{
    if (d->renew == RENEW_OFF || d->session_max_ms <= d->pass_ttl_ms)
        return 0;
    return d->session_idle_ms != 0 ? d->session_idle_ms : d->pass_ttl_ms;
}

/* How long a browser's place is kept, at least, while nobody asks for it: in line the idle time; if
 * its turn comes meanwhile, the time in which it may come back. */
static inline int64_t queue_kept_ms(const struct queue_def *d)
{
    int64_t back = d->claim_ms + d->grace_ms;

    return d->idle.browser_ms < back ? d->idle.browser_ms : back;
}

/* The longest silence by which a waiting browser loses neither its place nor its turn, beyond the told
 * interval. */
static inline int64_t queue_silent_ms(const struct queue_def *d)
{
    return d->away_ms != 0 && d->away_ms < d->idle.browser_ms ? d->away_ms : d->idle.browser_ms;
}

/* The longest session. */
static inline int64_t queue_session_ms(const struct queue_def *d)
{
    return d->session_max_ms > d->pass_ttl_ms ? d->session_max_ms : d->pass_ttl_ms;
}

/* Time that a session may last after its node last heard of a manager (0: for ever), so that the
 * slots of a lost node become free. */
static inline int64_t queue_hold_ms(const struct queue_def *d)
{
    int64_t idle = queue_idle_ms(d), hold;

    if (d->mode == MODE_RATE || idle == 0)
        return 0;
    hold = 2 * (idle > d->pass_ttl_ms ? idle : d->pass_ttl_ms);
    return hold < d->session_max_ms ? hold : d->session_max_ms;
}

/* Time after which sessions of a lost or flushed segment are certainly over. */
static inline int64_t queue_unreported_ms(const struct queue_def *d)
{
    int64_t hold = queue_hold_ms(d);

    return hold != 0 ? hold : queue_session_ms(d);
}

#endif
