/* admin.h: a process's own small HTTP server (httpd, loopback by default): /metrics,
 * /healthz, and whatever routes its owner adds. Not for the public port. */
#ifndef SEGQ_ADMIN_H
#define SEGQ_ADMIN_H

#include "common/base/buf.h"
#include "common/net/ev.h"

struct admin;
struct cfg_cert;

#define ADMIN_COOKIE "segq_admin"

struct http_via;

/* Headers by which a proxy says for whom it asks. Anybody can send them: the handler has to know whether
 * this is such a proxy. The last line of each; "" if there is none. */
struct admin_forwarded {
    const char *user, *email, *groups; /* X-Forwarded-User, -Email, -Groups */
    bool twice;                        /* true: any of the three does */
    const char *proof;                 /* X-Segq-Proxy: a secret of the proxy */
    const struct http_via *via;        /* X-Forwarded-For; ref */
};

struct admin_req {
    const char *method;        /* "GET" ... */
    const char *path;          /* decoded once, without the query; starts with '/' */
    const char *raw_path;      /* the path as it came: a Location may repeat it */
    const char *query;         /* raw, "" if none */
    const char *if_match;      /* header, "" if none */
    const char *if_none_match; /* header, "" if none */
    const char *operator_name; /* header X-Segq-Operator, unproved; "" if none */
    const char *from;          /* the address that asks, "" if not known */
    const char *token;         /* Authorization: Bearer, not ended by 0; "" if none */
    size_t token_len;
    const char *session;       /* cookie ADMIN_COOKIE, likewise */
    size_t session_len;
    bool dashboard;            /* X-Segq-Dashboard is there: no page of another site can set it */
    bool https;                /* the browser came by https: its Origin, X-Forwarded-Proto, or our port */
    struct admin_forwarded forwarded;
    bool gzip;       /* the asker takes a body in gzip */
    const uint8_t *body;
    size_t body_len; /* at most 1 MiB */
};

struct admin_ans {
    int status;
    const char *content_type; /* static string */
    bool gzip;                /* the body is: only if the asker takes it */
    const char *etag;         /* static or in etag_buf; NULL = none */
    char etag_buf[40];
    const char *allow;   /* with 405 */
    const char *location; /* with 307; static, or in location_buf */
    char location_buf[400];
    char set_cookie[400]; /* "": none */
    struct buf body;     /* owned by the caller of the handler */
    char request_id[20]; /* set before the handler is called; for admin_problem */
    struct admin_asked *asked; /* admin.c's own */
};

/* HEAD comes as GET; the body is dropped. Security headers are added to every answer (CSP
 * that allows our own scripts and styles, none inline), Retry-After to 429 and 503, and a 401
 * leaves 200 ms late. An answer is Cache-Control: no-store.
 * Called for everything but /metrics and /healthz; it has to look at the token itself (static
 * pages may be public). Fills *a; a status that
 * stays 0 is 404. */
typedef void (*admin_handler)(void *ctx, const struct admin_req *q, struct admin_ans *a);
typedef void (*admin_metrics)(void *ctx, struct buf *b);

struct admin_opts {
    const char *addr;   /* "127.0.0.1:9070"; port 0 picks one */
    const struct cfg_cert *cert; /* read during admin_new() only; NULL, or without a name: http */
    const char *(*refused)(void); /* why the last reload was refused: a warning; NULL: nothing */
    admin_metrics metrics;
    admin_handler handler;                       /* may be NULL */
    /* NULL: always. True with words: it is well, but for what they say. */
    bool (*healthy)(void *ctx, struct buf *why);
    void *ctx;
};

SQ_CHECK int admin_new(struct admin **out, struct ev *ev, const struct admin_opts *o,
                       struct err *e);
void admin_free(struct admin *a);
const char *admin_addr(const struct admin *a); /* "host:port" actually bound */
bool admin_is_sealed(const struct admin *a);   /* True: speaks https. */
/* Reads the certificate again; an error: that of before stays. */
SQ_CHECK int admin_reload(struct admin *a, const struct cfg_cert *cert, struct err *e);
void admin_set_hsts(struct admin *a, msec_t ms); /* see tls_server_set_hsts() */

/* problem+json: {"title","status","code","detail","request_id"}; replaces the body */
void admin_problem(struct admin_ans *a, int status, const char *code, const char *fmt,
                   ...) SQ_PRINTF(4, 5);
/* A handler that cannot answer yet keeps the answer back, and fills *a all the same: it is
 * sent by admin_send(), as admin_held_ans() is then. NULL: no memory. */
struct admin_held;
struct admin_held *admin_hold(struct admin_ans *a);
struct admin_ans *admin_held_ans(struct admin_held *h);
void admin_send(struct admin_held *h); /* frees h */

/* Value of ?name= decoded into out; false if absent or too long. */
bool admin_query(const char *query, const char *name, char *out, size_t cap);
/* True: the file is there, readable or not. */
bool admin_query_has(const char *query, const char *name);

#endif
