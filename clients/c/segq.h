/* segq.h: waits in a segq line, for games. One header, one file, libcurl (7.66 or newer).
 *
 * No threads: call segq_poll() from your loop; with wait_ms 0 it never blocks, else it
 * returns as soon as there is news. It joins, is told at once or polls when it was told to,
 * backs off with jitter while the service is busy, and goes on with another router when one is
 * away. It polls where it is not told: too many listen, or something on the way buffers.
 *
 *   const char *routers[] = { "https://q1.example", "https://q2.example" };
 *   struct segq_options o = { .routers = routers, .n_routers = 2, .queue = "login" };
 *   struct segq *s = segq_new(&o);
 *
 *   while (segq_poll(s, 100) < SEGQ_ADMITTED)
 *       show(segq_ticket(s)->position);
 *   if (segq_poll(s, 0) == SEGQ_ADMITTED)
 *       login(segq_ticket(s)->pass);
 *   segq_free(s);
 *
 * Call curl_global_init() before, once. A segq and its strings belong to one thread. */
#ifndef SEGQ_CLIENT_H
#define SEGQ_CLIENT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct segq;

enum segq_state {
    SEGQ_JOINING,  /* no place yet */
    SEGQ_WAITING,  /* in line */
    SEGQ_LEAVING,  /* segq_leave() is on its way */
    SEGQ_ADMITTED, /* the pass is there. This one and those below are final */
    SEGQ_GONE,     /* the place is gone: see `why` */
    SEGQ_REFUSED,  /* could not join: see `why` */
    SEGQ_LEFT,
};

/* A device's own, of the curve P-256, for a queue with `bind: key`. segq_key.h makes one with OpenSSL
 * and keeps it in a file; or it is the system's: in its key store, in hardware. */
struct segq_key {
    unsigned char x[32], y[32]; /* the public half, big-endian */
    /* ECDSA over the SHA-256 of data: r and s, big-endian, 32 bytes each. 0, or it cannot now. Called
     * inside segq_poll(), at the join and then once in some minutes. NULL = no key */
    int (*sign)(void *ctx, const void *data, size_t n, unsigned char rs[64]);
    void *ctx;
};

struct segq_options {
    const char *const *routers; /* "https://host[:port]"; tried in turn, any will do */
    size_t n_routers;
    const char *queue;
    const char *client;  /* NULL = "game" */
    const char *subject; /* who it is: the same subject has one place. NULL = nobody */
    const char *lane, *claim; /* NULL = the default lane */
    const char *token;   /* of a saved ticket: goes on in its place. NULL = joins */
    long timeout_ms;     /* of one request; 0 = 10 s */
    /* NULL, or called inside segq_poll() at each answer and each change of state. It may
     * ask, but must not free. */
    void (*on_news)(void *ctx, const struct segq *s, enum segq_state state);
    void *ctx;
    int polls_only;      /* 1: it keeps no connection open */
    const char *device;  /* saved with the token. NULL = none */
    /* Copied; its ctx must live as long as the segq. With it and `token` a place goes on without
     * `device`, too. NULL = none */
    const struct segq_key *key;
};

struct segq_ticket { /* as last heard; valid until the next segq_poll() */
    const char *token;   /* save it: with it the place is found again. "" = none */
    long long position;  /* 0 = not known at the moment */
    long long total;
    long long eta_s;     /* -1 = not known */
    const char *pass;    /* SEGQ_ADMITTED: give it to the game server. Else "" */
    long long pass_expires_at; /* Unix seconds */
    const char *why;     /* SEGQ_GONE: expired, no_show, left, finished, segment_lost, unknown;
                            SEGQ_REFUSED: queue_closed, queue_not_found, other_device ..., or
                            key_failed: `key` did not sign; else "" */
    int trouble;         /* 1: we are not answered, or told to wait. With a token the place
                            is kept; without one there is none yet, and we go on trying */
    const char *device;  /* the cookie of a queue with `bind: device`, the only one that is kept:
                            save it with the token. "" = none */
    const char *name;    /* "17-123": what operators know it by, for those who ask for help; also of
                            SEGQ_REFUSED other_device. "" = not known */
};

/* Copies what it is given. NULL: no memory, no router or queue in the options, or a device that is none. */
struct segq *segq_new(const struct segq_options *o);
void segq_free(struct segq *s); /* NULL is fine. Does not leave the line */

enum segq_state segq_poll(struct segq *s, int wait_ms);
const struct segq_ticket *segq_ticket(const struct segq *s);
/* Gives the place up, or ends the session: segq_poll() while it says SEGQ_LEAVING. Then it is SEGQ_LEFT;
 * SEGQ_REFUSED, if the place is another device's; or what it was before, if that was an end of it. */
void segq_leave(struct segq *s);

#ifdef __cplusplus
}
#endif

#endif
