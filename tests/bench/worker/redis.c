/* redis.c: the reliable list: LMOVE to a list of what is being done, SET of the result for an hour,
 * LREM. All commands of a turn leave together. */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/worker/worker.h"

static redisReader *reader;

static void word(const void *p, size_t n)
{
    say("$%zu\r\n", n);
    buf_append(&w.out, p, n);
    say("\r\n");
}

static void command(unsigned n, ...)
{
    va_list ap;

    say("*%u\r\n", n);
    va_start(ap, n);
    while (n-- > 0) {
        const char *s = va_arg(ap, const char *);

        if (s == NULL)
            break; /* the rest follows */
        word(s, strlen(s));
    }
    va_end(ap);
}

static void begin(void)
{
    reader = redisReaderCreate();
}

static void reserve(unsigned n, bool wait)
{
    while (n-- > 0) {
        if (wait)
            command(6, "BLMOVE", "jobs", "doing", "RIGHT", "LEFT", "1");
        else
            command(5, "LMOVE", "jobs", "doing", "RIGHT", "LEFT");
    }
}

static void done(const struct job *k)
{
    char key[40];

    snprintf(key, sizeof(key), "result:%s", k->id);
    command(5, "SET", key, NULL);
    word(k->answer.data, k->answer.len);
    word("EX", 2);
    word("3600", 4);
    command(4, "LREM", "doing", "-1", NULL);
    word(k->body.data, k->body.len);
}

/* A payload of bench_jobs has its number behind its moment. */
static void moved(const redisReply *r)
{
    unsigned long no = 0;
    char id[24];

    if (sscanf(r->str, "%*d %lu", &no) != 1)
        die("a payload is not ours: %.60s", r->str);
    snprintf(id, sizeof(id), "%lu", no);
    worker_has(id, r->str, r->len);
}

static void heard(void)
{
    void *p = NULL;

    redisReaderFeed(reader, (const char *)w.in.data, w.in.len);
    buf_reset(&w.in);
    while (redisReaderGetReply(reader, &p) == REDIS_OK && p != NULL) {
        redisReply *r = p;

        if (r->type == REDIS_REPLY_STRING)
            moved(r);
        else if (r->type == REDIS_REPLY_NIL)
            worker_has(NULL, NULL, 0);
        else if (r->type == REDIS_REPLY_ERROR || (r->type == REDIS_REPLY_INTEGER && r->integer != 1))
            die("Redis says %s", r->type == REDIS_REPLY_ERROR ? r->str : "that a job is not there");
        freeReplyObject(r);
    }
    if (reader->err != 0)
        die("%s", reader->errstr);
}

const struct queue_of_jobs redis_jobs = { begin, reserve, done, heard };
