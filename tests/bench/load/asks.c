/* asks.c: composed at the start; later only the token changes. */
#include "tests/bench/load/asks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1L << 31)

/* What a browser sends with a fetch of a page's script, its cookies included. */
static const char browser[] =
    "Connection: keep-alive\r\n"
    "Pragma: no-cache\r\n"
    "Cache-Control: no-cache\r\n"
    "sec-ch-ua: \"Chromium\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, "
    "like Gecko) Chrome/124.0.0.0 Safari/537.36\r\n"
    "sec-ch-ua-platform: \"Windows\"\r\n"
    "Accept: application/json\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: cors\r\n"
    "Sec-Fetch-Dest: empty\r\n"
    "Referer: http://play.example.com/q/login\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Cookie: lang=en; _id=GA1.1.1023456789.1712345678; "
    "session=5f2b8c1e9a7d4036b1c2d3e4f5a60718\r\n";

static int read_file(struct asks *a, const char *path, size_t *size, struct err *e)
{
    FILE *f = fopen(path, "re");
    int rc = -1;
    long n;

    if (f == NULL)
        return err_set(e, SQ_ESYS, "%s: %s", path, strerror(errno));
    if (fseek(f, 0, SEEK_END) < 0 || (n = ftell(f)) < 0 || n > FILE_MAX) {
        rc = err_set(e, SQ_EINVAL, "%s: not a file of tokens", path);
        goto out;
    }
    rewind(f);
    a->text = malloc((size_t)n + 1);
    if (a->text == NULL) {
        rc = err_set(e, SQ_ENOMEM, "%s", path);
        goto out;
    }
    *size = fread(a->text, 1, (size_t)n, f);
    a->text[*size] = '\0';
    rc = 0;
out:
    fclose(f);
    return rc;
}

static size_t count_lines(const char *s, size_t n)
{
    size_t lines = 1;

    for (const char *p = s; (p = memchr(p, '\n', n - (size_t)(p - s))) != NULL; p++)
        lines++;
    return lines;
}

/* Every line that is not empty is a token. */
static int read_tokens(struct asks *a, const char *path, struct err *e)
{
    size_t size = 0;
    int rc = read_file(a, path, &size, e);

    if (rc < 0)
        return rc;
    a->token = calloc(count_lines(a->text, size), sizeof(*a->token));
    if (a->token == NULL)
        return err_set(e, SQ_ENOMEM, "%s", path);
    for (size_t at = 0, len; at < size; at += len + 1) {
        len = strcspn(a->text + at, "\n");
        if (len == 0)
            continue;
        if (len > ASK_TOKEN_MAX || strcspn(a->text + at, " \r\t\n") < len)
            return err_set(e, SQ_EINVAL, "%s: line %zu is no token", path,
                           (size_t)a->n_tokens + 1);
        a->token[a->n_tokens++] = (struct ask_token){ (uint32_t)at, (uint32_t)len };
    }
    return a->n_tokens != 0 ? 0 : err_set(e, SQ_EINVAL, "%s: no tokens", path);
}

static int compose(struct asks *a, const struct opts *o, struct err *e)
{
    const char *more = o->browser ? browser : "";
    int head, tail;

    if (o->browser && o->close)
        more += strcspn(browser, "\n") + 1; /* without its keep-alive */
    if (o->tokens != NULL)
        head = snprintf(a->out, ASK_MAX, "GET /v1/tickets/");
    else if (o->join != NULL)
        head = snprintf(a->out, ASK_MAX, "POST /v1/queues/%s/tickets", o->join);
    else
        head = snprintf(a->out, ASK_MAX, "GET %s", o->path);
    tail = snprintf(a->tail, ASK_MAX, " HTTP/1.1\r\nHost: bench\r\n%s%s%s%s%s\r\n",
                    o->join != NULL ? "Content-Length: 0\r\n" : "",
                    o->close ? "Connection: close\r\n" : "", more,
                    o->header != NULL ? o->header : "", o->header != NULL ? "\r\n" : "");
    if (head < 0 || head >= ASK_MAX || tail < 0 || tail >= ASK_MAX)
        return err_set(e, SQ_ETOOBIG, "the request is too long");
    a->head_len = (size_t)head;
    a->tail_len = (size_t)tail;
    memcpy(a->out + head, a->tail, (size_t)tail);
    return 0;
}

int asks_init(struct asks *a, const struct opts *o, struct err *e)
{
    int rc;

    memset(a, 0, sizeof(*a));
    rng_seed(&a->rng, o->seed);
    rc = compose(a, o, e);
    if (rc == 0 && o->tokens != NULL)
        rc = read_tokens(a, o->tokens, e);
    if (rc < 0)
        asks_fini(a);
    return rc;
}

void asks_fini(struct asks *a)
{
    free(a->text);
    free(a->token);
    a->text = NULL;
    a->token = NULL;
}

const char *asks_next(struct asks *a, size_t *len)
{
    size_t n = 0;

    if (a->text != NULL) {
        const struct ask_token *t = &a->token[rng_below(&a->rng, a->n_tokens)];

        n = t->len;
        memcpy(a->out + a->head_len, a->text + t->at, n);
        if (n != a->last_len) /* else the rest is in its place already */
            memcpy(a->out + a->head_len + n, a->tail, a->tail_len);
        a->last_len = n;
    }
    *len = a->head_len + n + a->tail_len;
    return a->out;
}
