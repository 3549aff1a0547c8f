/* http.c: one HTTP request over libevent's client, in a loop of its own that ends
 * with the answer. A server that is silent, or drips its answer, is given up. */
#include "queuemng/ctl_ask/http.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX (64 << 20) /* ten thousand queues with their segments fit */

struct exchange {
    struct event_base *base;
    struct evhttp_connection *conn;
    struct ctl_answer *answer; /* ref */
    bool done;
    int sys; /* errno when it failed */
};

static void on_answer(struct evhttp_request *req, void *arg)
{
    struct exchange *x = arg;

    x->sys = EVUTIL_SOCKET_ERROR();
    if (req != NULL && evhttp_request_get_response_code(req) > 0) {
        struct evbuffer *in = evhttp_request_get_input_buffer(req);
        size_t n = evbuffer_get_length(in);
        uint8_t *p = buf_reserve(&x->answer->body, n + 1);

        if (p != NULL && evbuffer_remove(in, p, n) == (int)n) {
            p[n] = '\0'; /* behind the end: it can be printed as a text */
            x->answer->body.len += n;
            x->answer->status = evhttp_request_get_response_code(req);
            x->done = true;
        }
    }
    event_base_loopbreak(x->base);
}

static enum evhttp_cmd_type method_of(const char *s)
{
    if (strcmp(s, "POST") == 0)
        return EVHTTP_REQ_POST;
    if (strcmp(s, "PUT") == 0)
        return EVHTTP_REQ_PUT;
    if (strcmp(s, "PATCH") == 0)
        return EVHTTP_REQ_PATCH;
    return strcmp(s, "DELETE") == 0 ? EVHTTP_REQ_DELETE : EVHTTP_REQ_GET;
}

/* For the log of changes: SEGQ_OPERATOR, else the login name. It is no proof of anything, and
 * a name that would end the header's line is none. */
static const char *operator_name(void)
{
    const char *v[] = { getenv("SEGQ_OPERATOR"), getenv("SUDO_USER"), getenv("USER"),
                        getenv("LOGNAME") };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (v[i] != NULL && v[i][0] != '\0' && strpbrk(v[i], "\r\n") == NULL)
            return v[i];
    return "segqctl";
}

static int body_add(struct evhttp_request *req, struct evkeyvalq *h, const json_t *body)
{
    char length[24], *text = json_dumps(body, JSON_COMPACT);
    int rc = text != NULL ? 0 : -1;

    if (text != NULL) { /* the length, since libevent 2.1 leaves it out for PATCH */
        snprintf(length, sizeof(length), "%zu", strlen(text));
        rc |= evhttp_add_header(h, "Content-Length", length);
        rc |= evhttp_add_header(h, "Content-Type", "application/json");
        rc |= evbuffer_add(evhttp_request_get_output_buffer(req), text, strlen(text));
    }
    free(text);
    return rc;
}

static int headers_add(struct evhttp_request *req, const char *host,
                       const struct ctl_call *call)
{
    struct evkeyvalq *h = evhttp_request_get_output_headers(req);
    char bearer[512];
    int rc = evhttp_add_header(h, "Host", host);

    rc |= evhttp_add_header(h, "Connection", "close");
    rc |= evhttp_add_header(h, "User-Agent", "segqctl");
    if (call->bearer != NULL) {
        snprintf(bearer, sizeof(bearer), "Bearer %s", call->bearer);
        rc |= evhttp_add_header(h, "Authorization", bearer);
    }
    if (call->if_none_match != NULL)
        rc |= evhttp_add_header(h, "If-None-Match", call->if_none_match);
    if (call->if_match != NULL)
        rc |= evhttp_add_header(h, "If-Match", call->if_match);
    if (call->bearer != NULL && strcmp(call->method, "GET") != 0)
        rc |= evhttp_add_header(h, "X-Segq-Operator", operator_name());
    if (call->body != NULL)
        rc |= body_add(req, h, call->body);
    return rc;
}

/* Queues the request; from then on it belongs to the connection. */
static int request_send(struct exchange *x, const char *host, const struct ctl_call *call)
{
    struct evhttp_request *req = evhttp_request_new(on_answer, x);

    if (req == NULL)
        return -1;
    if (headers_add(req, host, call) != 0) {
        evhttp_request_free(req);
        return -1;
    }
    return evhttp_make_request(x->conn, req, method_of(call->method), call->path);
}

static int exchange_run(struct exchange *x, const struct evhttp_uri *uri,
                        const struct ctl_call *call, unsigned timeout_s)
{
    const struct timeval limit = { .tv_sec = timeout_s };
    int port = evhttp_uri_get_port(uri);
    char host[256], bare[256];
    size_t n;

    /* [::1] keeps its brackets in the Host header, and loses them for the resolver */
    snprintf(bare, sizeof(bare), "%s", evhttp_uri_get_host(uri));
    n = strlen(bare);
    if (bare[0] == '[' && bare[n - 1] == ']') {
        memmove(bare, bare + 1, n - 2);
        bare[n - 2] = '\0';
    }
    snprintf(host, sizeof(host), "%s:%d", evhttp_uri_get_host(uri), port > 0 ? port : 80);
    x->conn =
        evhttp_connection_base_new(x->base, NULL, bare, (uint16_t)(port > 0 ? port : 80));
    if (x->conn == NULL)
        return -1;
    evhttp_connection_set_timeout(x->conn, (int)timeout_s);
    evhttp_connection_set_max_body_size(x->conn, ANSWER_MAX);
    if (request_send(x, host, call) != 0)
        return -1;
    event_base_loopexit(x->base, &limit);
    return event_base_dispatch(x->base);
}

int ctl_http(const char *base, const struct ctl_call *call, unsigned timeout_s,
             struct ctl_answer *a, struct err *e)
{
    struct exchange x = { .answer = a };
    struct evhttp_uri *uri = evhttp_uri_parse(base);
    int rc = 0;

    buf_reset(&a->body);
    a->status = 0;
    errno = 0;
    x.base = event_base_new();
    if (uri == NULL || x.base == NULL)
        rc = err_set(e, SQ_EINVAL, "%s: not a URL", base);
    else if (exchange_run(&x, uri, call, timeout_s) < 0 && !x.done)
        rc = err_set(e, SQ_EUNAVAIL, "%s: cannot be asked", base);
    else if (!x.done && x.sys == ENOTCONN) /* libevent has lost the errno of connect() */
        rc = err_set(e, SQ_EUNAVAIL, "%s: cannot be reached", base);
    else if (!x.done && x.sys != 0 && x.sys != EINPROGRESS && x.sys != EAGAIN)
        rc = err_set(e, x.sys == ECONNREFUSED ? SQ_EUNAVAIL : SQ_ECLOSED, "%s: %s", base,
                     strerror(x.sys));
    else if (!x.done)
        rc = err_set(e, SQ_ETIMEOUT, "%s: no whole answer within %u s", base, timeout_s);
    if (x.conn != NULL)
        evhttp_connection_free(x.conn);
    if (x.base != NULL)
        event_base_free(x.base);
    if (uri != NULL)
        evhttp_uri_free(uri);
    return rc;
}
