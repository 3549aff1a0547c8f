/* segq.c: tasks over HTTP. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/jobs/jobs.h"

/* where, what: the path in two parts. */
static void post(struct conn *c, const char *where, const char *what, const struct buf *body)
{
    say(&c->out, "POST /v1/%s%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
        where, what, b.token, body->len);
    buf_append(&c->out, body->data, body->len);
}

static void http(struct conn *c, const char *queue, const char *path, const struct buf *body)
{
    char where[100];

    snprintf(where, sizeof(where), "queues/%s/tasks", queue);
    post(c, where, path, body);
}

/* The body of a good answer, 0-terminated; NULL: it is not whole. */
static const char *http_body(struct conn *c)
{
    const char *end, *length;
    size_t n, head;

    buf_append(&c->in, "", 1);
    c->in.len--;
    end = strstr((char *)c->in.data, "\r\n\r\n");
    if (end == NULL)
        return NULL;
    head = (size_t)(end + 4 - (char *)c->in.data);
    length = strstr((char *)c->in.data, "\nContent-Length:");
    n = length != NULL && length < end ? strtoul(length + 16, NULL, 10) : 0;
    if (c->in.len < head + n)
        return NULL;
    if (c->in.data[9] != '2')
        die("%.400s", (char *)c->in.data);
    return end + 4;
}

static int count(const char *s, const char *what)
{
    int n = 0;

    for (; (s = strstr(s, what)) != NULL; s += strlen(what))
        n++;
    return n;
}

static void segq_put(struct conn *c, unsigned n)
{
    static struct buf body;
    char key[32] = "", queue[80];

    buf_reset(&body);
    snprintf(queue, sizeof(queue), "%s", b.queue);
    if (b.queues > 1)
        snprintf(queue, sizeof(queue), "%s%" PRIu64, b.queue, b.requests % b.queues);
    for (unsigned i = 0; i < n; i++, b.asked++) {
        int64_t due = due_us(b.asked);

        snprintf(key, sizeof(key), "%s", b.key);
        if (b.keys > 0)
            snprintf(key, sizeof(key), "%s%" PRIu64, b.key, b.asked % b.keys);
        say(&body, "%s{", b.batch == 1 ? "" : i == 0 ? "[" : ",");
        if (key[0] != '\0')
            say(&body, "\"key\":\"%s\",", key);
        if (b.due_in > 0)
            say(&body, "\"at\":%" PRId64 ".%03d,", due / 1000000, (int)(due / 1000 % 1000));
        if (b.call != NULL)
            say(&body, "\"path\":\"%s\",\"method\":\"POST\",\"body\":\"", b.call);
        else
            say(&body, "\"payload\":\"");
        payload(&body, b.asked, due / 1000 * 1000, key);
        say(&body, "\"}");
    }
    say(&body, "%s", b.batch == 1 ? "" : "]");
    http(c, queue, b.batch == 1 ? "" : "/batch", &body);
}

static int segq_was_put(struct conn *c)
{
    const char *body = http_body(c);
    int n;

    if (body == NULL)
        return -1;
    if (b.batch == 1)
        return 1;
    n = count(body, "\"status\":201");
    if ((unsigned)n != c->asked)
        die("a row of a batch is refused: %.400s", body);
    return n;
}

static void segq_take(struct conn *c, unsigned n)
{
    static struct buf body;

    buf_reset(&body);
    say(&body, "{\"n\":%u,\"lease\":\"60s\"%s}", n, b.waits ? ",\"wait\":\"1s\"" : "");
    http(c, b.queue, "/take", &body);
}

static void copy_until_quote(char *to, size_t cap, const char *from)
{
    size_t n = strcspn(from, "\"");

    if (n >= cap)
        die("a name is too long: %.80s", from);
    memcpy(to, from, n);
    to[n] = '\0';
}

/* The tasks of an answer. */
static int note_tasks(struct conn *c, const char *p)
{
    for (c->n_ids = 0; (p = strstr(p, "\"task\":\"")) != NULL; c->n_ids++) {
        const char *lease = strstr(p, "\"lease_id\":\""), *text = strstr(p, "\"payload\":\"");

        if (lease == NULL || text == NULL || c->n_ids == BATCH_MAX)
            die("a take is answered %.400s", p);
        copy_until_quote(c->id[c->n_ids].name, sizeof(c->id[0].name), p + 8);
        copy_until_quote(c->id[c->n_ids].lease, sizeof(c->id[0].lease), lease + 12);
        note_job(text + 11);
        p += 8;
    }
    return (int)c->n_ids;
}

static int segq_taken(struct conn *c)
{
    const char *p = http_body(c);

    return p == NULL ? -1 : note_tasks(c, p);
}

/* The job that it has, in the request that takes the next one, if there shall be any. */
static void ack_and_take(struct conn *c)
{
    static struct buf body;
    char what[80];

    buf_reset(&body);
    say(&body, "{\"lease_id\":\"%s\"", c->id[0].lease);
    if (!is_over())
        say(&body, ",\"take\":{\"queue\":\"%s\",\"lease\":\"60s\"%s}", b.queue,
            b.waits ? ",\"wait\":\"1s\"" : "");
    say(&body, "}");
    snprintf(what, sizeof(what), "%s/ack", c->id[0].name);
    post(c, "tasks/", what, &body);
}

static void segq_settle(struct conn *c)
{
    static struct buf body;

    if (b.next) {
        ack_and_take(c);
        return;
    }
    buf_reset(&body);
    for (unsigned i = 0; i < c->n_ids; i++)
        say(&body, "%c{\"verb\":\"ack\",\"task\":\"%s\",\"lease_id\":\"%s\"}", i == 0 ? '[' : ',',
            c->id[i].name, c->id[i].lease);
    say(&body, "]");
    http(c, b.queue, "/settle", &body);
}

static int segq_settled(struct conn *c)
{
    const char *body = http_body(c);
    int n;

    if (body == NULL)
        return -1;
    if (b.next) {
        body = strstr(body, "\"tasks\":");
        return c->n_ids = 0, body != NULL ? note_tasks(c, body) : 0;
    }
    n = count(body, "\"status\":200");
    if ((unsigned)n != c->n_ids)
        die("a settlement is refused: %.400s", body);
    return n;
}

const struct proto segq_proto = { segq_put, segq_was_put, segq_take, segq_taken, segq_settle,
                                  segq_settled };
