/* redis.c: a stream with a group of workers, and a list, one command a job. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/jobs/jobs.h"

static void resp(struct buf *o, unsigned n, ...)
{
    va_list ap;

    say(o, "*%u\r\n", n);
    va_start(ap, n);
    while (n-- > 0) {
        const char *s = va_arg(ap, const char *);

        say(o, "$%zu\r\n", strlen(s));
        buf_append(o, s, strlen(s));
        say(o, "\r\n");
    }
    va_end(ap);
}

/* The next answer, c->asked counts them down; NULL: it is not here. */
static redisReply *next_reply(struct conn *c)
{
    void *r = NULL;

    if (c->in.len > 0)
        redisReaderFeed(c->reader, (char *)c->in.data, c->in.len);
    buf_reset(&c->in);
    if (redisReaderGetReply(c->reader, &r) != REDIS_OK)
        die("%s", c->reader->errstr);
    if (r == NULL)
        return NULL;
    if (((redisReply *)r)->type == REDIS_REPLY_ERROR)
        die("%s", ((redisReply *)r)->str);
    c->asked--;
    return r;
}

static int all_replies(struct conn *c)
{
    redisReply *r;

    while (c->asked > 0 && (r = next_reply(c)) != NULL)
        freeReplyObject(r);
    return c->asked == 0 ? 0 : -1;
}

static void redis_put(struct conn *c, unsigned n, const char *command)
{
    static struct buf job;

    for (unsigned i = 0; i < n; i++, b.asked++) {
        buf_reset(&job);
        payload(&job, b.asked, due_us(b.asked), "");
        buf_append(&job, "", 1);
        if (command[0] == 'X')
            resp(&c->out, 5, command, "jobs", "*", "b", (char *)job.data);
        else
            resp(&c->out, 3, command, "jobs", (char *)job.data);
    }
    c->n_ids = n;
}

static void stream_put(struct conn *c, unsigned n)
{
    redis_put(c, n, "XADD");
}

static void list_put(struct conn *c, unsigned n)
{
    redis_put(c, n, "LPUSH");
}

static int redis_was_put(struct conn *c)
{
    return all_replies(c) < 0 ? -1 : (int)c->n_ids;
}

static void stream_take(struct conn *c, unsigned n)
{
    char most[16];

    snprintf(most, sizeof(most), "%u", n);
    resp(&c->out, 9, "XREADGROUP", "GROUP", "workers", "w", "COUNT", most, "STREAMS", "jobs", ">");
    c->asked = 1;
}

static int stream_taken(struct conn *c)
{
    redisReply *r = next_reply(c);

    if (r == NULL)
        return -1;
    c->n_ids = 0;
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i < r->element[0]->element[1]->elements; i++) {
        redisReply *e = r->element[0]->element[1]->element[i];

        snprintf(c->id[c->n_ids++].name, sizeof(c->id[0].name), "%s", e->element[0]->str);
        note_job(e->element[1]->element[1]->str);
    }
    freeReplyObject(r);
    return (int)c->n_ids;
}

/* One command each; a stream keeps what is acknowledged until it is deleted. */
static void stream_settle(struct conn *c)
{
    static const char *const command[] = { "XACK", "XDEL" };

    for (unsigned k = 0; k < 2; k++) {
        say(&c->out, "*%u\r\n$4\r\n%s\r\n$4\r\njobs\r\n%s", c->n_ids + 3 - k, command[k],
            k == 0 ? "$7\r\nworkers\r\n" : "");
        for (unsigned i = 0; i < c->n_ids; i++)
            say(&c->out, "$%zu\r\n%s\r\n", strlen(c->id[i].name), c->id[i].name);
    }
    c->asked = 2;
}

static int redis_settled(struct conn *c)
{
    return all_replies(c) < 0 ? -1 : (int)c->n_ids;
}

static void list_take(struct conn *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        resp(&c->out, 5, "LMOVE", "jobs", "taken", "RIGHT", "LEFT");
    c->n_ids = 0;
}

static int list_taken(struct conn *c)
{
    redisReply *r;

    while (c->asked > 0 && (r = next_reply(c)) != NULL) {
        if (r->type == REDIS_REPLY_STRING) {
            struct buf *v = &c->value[c->n_ids++];

            buf_reset(v);
            buf_append(v, r->str, r->len + 1);
            note_job(r->str);
        }
        freeReplyObject(r);
    }
    return c->asked == 0 ? (int)c->n_ids : -1;
}

static void list_settle(struct conn *c)
{
    for (unsigned i = 0; i < c->n_ids; i++)
        resp(&c->out, 4, "LREM", "taken", "-1", (char *)c->value[i].data);
    c->asked = c->n_ids;
}

const struct proto stream_proto = { stream_put, redis_was_put, stream_take, stream_taken, stream_settle,
                                    redis_settled };

const struct proto list_proto = { list_put, redis_was_put, list_take, list_taken, list_settle,
                                  redis_settled };
