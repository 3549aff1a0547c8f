/* beanstalk.c: beanstalkd's lines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/jobs/jobs.h"

static void bean_put(struct conn *c, unsigned n)
{
    static struct buf job;

    for (unsigned i = 0; i < n; i++, b.asked++) {
        int64_t due = due_us(b.asked), wait = due - wall_us();
        int64_t delay = b.due_in > 0 && wait > 0 ? wait / 1000000 : 0; /* whole seconds */

        buf_reset(&job);
        payload(&job, b.asked, b.due_in > 0 ? wall_us() + delay * 1000000 : due, "");
        say(&c->out, "put 0 %" PRId64 " 120 %zu\r\n", delay, job.len);
        buf_append(&c->out, job.data, job.len);
        say(&c->out, "\r\n");
    }
}

/* Every answer is a line that begins with `word`; RESERVED has a payload behind it. */
static int bean_lines(struct conn *c, unsigned want, const char *word, void (*on)(struct conn *, char *, size_t))
{
    size_t at = 0;
    unsigned n = 0;

    buf_append(&c->in, "", 1);
    c->in.len--;
    for (int pass = 0; pass < 2; pass++) { /* whole first, then told */
        at = 0;
        for (n = 0; n < want; n++) {
            char *line = (char *)c->in.data + at, *end = at < c->in.len ? strstr(line, "\r\n") : NULL;
            size_t bytes = 0;

            if (end == NULL)
                return -1;
            if (strncmp(line, "RESERVED ", 9) == 0)
                bytes = strtoul(strchr(line + 9, ' '), NULL, 10) + 2;
            else if (strncmp(line, word, strlen(word)) != 0)
                die("%.100s", line);
            at = (size_t)(end + 2 - (char *)c->in.data) + bytes;
            if (at > c->in.len)
                return -1;
            if (pass == 1 && on != NULL && bytes > 0)
                on(c, line, (size_t)(end + 2 - line));
        }
    }
    return (int)n;
}

static int bean_was_put(struct conn *c)
{
    return bean_lines(c, c->asked, "INSERTED", NULL);
}

static void bean_take(struct conn *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        say(&c->out, "reserve-with-timeout %d\r\n", b.waits && i == 0);
}

static void bean_reserved(struct conn *c, char *line, size_t head)
{
    snprintf(c->id[c->n_ids++].name, sizeof(c->id[0].name), "%lu", strtoul(line + 9, NULL, 10));
    note_job(line + head);
}

static int bean_taken(struct conn *c)
{
    c->n_ids = 0;
    return bean_lines(c, c->asked, "TIMED_OUT", bean_reserved) < 0 ? -1 : (int)c->n_ids;
}

static void bean_settle(struct conn *c)
{
    for (unsigned i = 0; i < c->n_ids; i++)
        say(&c->out, "delete %s\r\n", c->id[i].name);
}

static int bean_settled(struct conn *c)
{
    return bean_lines(c, c->n_ids, "DELETED", NULL);
}

const struct proto beanstalk_proto = { bean_put, bean_was_put, bean_take, bean_taken, bean_settle,
                                       bean_settled };
