/* beanstalk.c: a job is deleted on the connection that reserved it, behind the put of its result into
 * a tube of results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/worker/worker.h"

static void begin(void)
{
    say("use results\r\n");
}

static void reserve(unsigned n, bool wait)
{
    while (n-- > 0)
        say("reserve-with-timeout %d\r\n", wait);
}

static void done(const struct job *k)
{
    size_t head = strlen(k->id) + 1;

    say("put 0 0 120 %zu\r\n%s ", head + k->answer.len, k->id);
    buf_append(&w.out, k->answer.data, k->answer.len);
    say("\r\ndelete %s\r\n", k->id);
}

static void reserved(const char *line, const char *body, size_t n)
{
    char id[24];

    snprintf(id, sizeof(id), "%lu", strtoul(line + strlen("RESERVED "), NULL, 10));
    worker_has(id, body, n);
}

static bool is_line(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* Bytes of the next answer, or 0: it is not whole. */
static size_t next(size_t at)
{
    const char *line = (const char *)w.in.data + at, *end;
    size_t left = w.in.len - at, head, n;

    end = left > 0 ? memchr(line, '\n', left) : NULL;
    if (end == NULL)
        return 0;
    head = (size_t)(end + 1 - line);
    if (is_line(line, "RESERVED ")) {
        n = strtoul(strchr(line + strlen("RESERVED "), ' '), NULL, 10);
        if (left < head + n + 2)
            return 0;
        reserved(line, end + 1, n);
        return head + n + 2;
    }
    if (is_line(line, "TIMED_OUT") || is_line(line, "DEADLINE_SOON"))
        worker_has(NULL, NULL, 0);
    else if (!is_line(line, "INSERTED") && !is_line(line, "DELETED") && !is_line(line, "USING"))
        die("beanstalkd says %.*s", (int)head, line);
    return head;
}

static void heard(void)
{
    size_t at = 0, n;

    while ((n = next(at)) != 0)
        at += n;
    buf_consume(&w.in, at);
}

const struct queue_of_jobs beanstalk_jobs = { begin, reserve, done, heard };
