/* http.c: one HTTP request over libcurl, which blocks until its answer is whole. A server that is
 * silent, or drips its answer, is given up. No proxies, no redirects: the token goes to the address
 * that the operator named, and to no other. */
#include "queuemng/ctl_ask/http.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX (64 << 20) /* ten thousand queues with their segments fit */

struct exchange {
    CURL *curl;
    struct curl_slist *headers;
    bool failed; /* no memory for a header */
    char *body;  /* owned by malloc; NULL: none */
    char url[1200], why[CURL_ERROR_SIZE];
};

static size_t on_bytes(char *p, size_t size, size_t n, void *arg)
{
    struct buf *body = arg;

    (void)size; /* 1 */
    if (body->len + n > ANSWER_MAX)
        return 0;
    buf_append(body, p, n);
    return body->failed ? 0 : n;
}

/* For the log of changes: SEGQ_OPERATOR, else the context's, else the login name. It is no proof
 * of anything, and a name that would end the header's line is none. */
static const char *operator_name(const char *of_context)
{
    const char *v[] = { getenv("SEGQ_OPERATOR"), of_context, getenv("SUDO_USER"), getenv("USER"),
                        getenv("LOGNAME") };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (v[i] != NULL && v[i][0] != '\0' && strpbrk(v[i], "\r\n") == NULL)
            return v[i];
    return "segqctl";
}

/* "Name: value"; "Name:" takes away one that libcurl would add. */
static void line_add(struct exchange *x, const char *line)
{
    struct curl_slist *list = curl_slist_append(x->headers, line);

    x->failed |= list == NULL;
    if (list != NULL)
        x->headers = list;
}

/* name: all before the value. what: the value, for people; NULL: it is one of ours, which fits. */
static int header_add(struct exchange *x, const char *name, const char *value, const char *what,
                      struct err *e)
{
    char line[600];
    size_t most = sizeof(line) - strlen(name) - 1;

    assert(what != NULL || strlen(value) <= most);
    if (strlen(value) > most)
        return err_set(e, SQ_EINVAL, "%s is longer than %zu characters", what, most);
    snprintf(line, sizeof(line), "%s%s", name, value);
    line_add(x, line);
    return 0;
}

static int headers_add(struct exchange *x, const struct ctl_call *call, const char *operator,
                       struct err *e)
{
    char tag[40];
    int rc = header_add(x, "Connection: ", "close", NULL, e);

    snprintf(tag, sizeof(tag), "\"%" JSON_INTEGER_FORMAT "\"", call->version);
    if (call->bearer != NULL)
        rc = header_add(x, "Authorization: Bearer ", call->bearer, "the admin token", e);
    if (rc == 0 && call->is_new)
        rc = header_add(x, "If-None-Match: ", "*", NULL, e);
    if (rc == 0 && call->version != 0)
        rc = header_add(x, "If-Match: ", tag, NULL, e);
    if (rc == 0 && call->bearer != NULL) /* also with GET: some looks are in that log, too */
        rc = header_add(x, "X-Segq-Operator: ", operator_name(operator),
                        "the operator's name (SEGQ_OPERATOR, or the context's)", e);
    if (rc == 0 && (call->body != NULL || call->text != NULL))
        rc = header_add(x, "Content-Type: ", "application/json", NULL, e);
    return rc;
}

/* False: no memory. An order without a body says that it has none. */
static bool body_set(struct exchange *x, const struct ctl_call *call)
{
    bool order = strcmp(call->method, "GET") != 0;

    if (call->body != NULL && (x->body = json_dumps(call->body, JSON_COMPACT)) == NULL)
        return false;
    if (order) {
        const char *text = x->body != NULL ? x->body : call->text != NULL ? call->text : "";

        curl_easy_setopt(x->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(text));
        curl_easy_setopt(x->curl, CURLOPT_POSTFIELDS, text); /* not copied */
        line_add(x, "Expect:");
        if (*text == '\0')
            line_add(x, "Content-Type:");
    }
    curl_easy_setopt(x->curl, CURLOPT_CUSTOMREQUEST, call->method);
    return true;
}

static void options_set(struct exchange *x, const struct ctl_net *net, struct buf *body)
{
    CURL *c = x->curl;

    curl_easy_setopt(c, CURLOPT_URL, x->url);
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "segqctl");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, x->headers);
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)net->timeout_s);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x->why);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
    if (net->cacert != NULL)
        curl_easy_setopt(c, CURLOPT_CAINFO, net->cacert);
}

/* Says what went wrong, and whether the request may have been carried out. */
static int failed(struct exchange *x, CURLcode code, const char *base, unsigned timeout_s,
                  struct err *e)
{
    const char *why = x->why[0] != '\0' ? x->why : curl_easy_strerror(code);
    long os = 0;

    curl_easy_getinfo(x->curl, CURLINFO_OS_ERRNO, &os);
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        return err_set(e, SQ_EUNAVAIL, "%s: %s", base, os != 0 ? strerror((int)os) : why);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(e, SQ_ETIMEOUT, "%s: no whole answer within %u s", base, timeout_s);
    case CURLE_URL_MALFORMAT:
        return err_set(e, SQ_EINVAL, "%s: not a URL", base);
    case CURLE_COULDNT_RESOLVE_HOST: /* these four: nothing was sent */
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
        return err_set(e, SQ_EUNAVAIL, "%s: %s", base, why);
    default:
        return err_set(e, SQ_ECLOSED, "%s: %s", base, why);
    }
}

static int run(struct exchange *x, const char *base, const struct ctl_call *call,
               const struct ctl_net *net, struct ctl_answer *a, struct err *e)
{
    size_t n = strlen(base);
    long status = 0;
    CURLcode code;

    snprintf(x->url, sizeof(x->url), "%.*s%s", (int)(n > 0 && base[n - 1] == '/' ? n - 1 : n), base,
             call->path);
    if (headers_add(x, call, net->operator, e) < 0)
        return e->code;
    if (!body_set(x, call) || x->failed)
        return err_set(e, SQ_ENOMEM, "out of memory");
    options_set(x, net, &a->body);
    code = curl_easy_perform(x->curl);
    if (code != CURLE_OK)
        return failed(x, code, base, net->timeout_s, e);
    curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status);
    buf_byte(&a->body, '\0'); /* behind the end: it can be printed as a text */
    if (a->body.failed)
        return err_set(e, SQ_ENOMEM, "out of memory");
    a->body.len--;
    a->status = (int)status;
    return 0;
}

int ctl_http(const char *base, const struct ctl_call *call, const struct ctl_net *net,
             struct ctl_answer *a, struct err *e)
{
    struct exchange x = { .curl = curl_easy_init() };
    int rc;

    buf_reset(&a->body);
    a->status = 0;
    rc = x.curl != NULL ? run(&x, base, call, net, a, e) : err_set(e, SQ_ENOMEM, "out of memory");
    curl_easy_cleanup(x.curl);
    curl_slist_free_all(x.headers);
    free(x.body);
    return rc;
}
