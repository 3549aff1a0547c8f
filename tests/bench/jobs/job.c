/* job.c: a job's payload, and what a taker learns of it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/jobs/jobs.h"

void die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("bench_jobs: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

int64_t wall_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

void say(struct buf *o, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof(text))
        die("a text is too long");
    buf_append(o, text, (size_t)n);
}

int64_t due_us(uint64_t no)
{
    if (b.due_in <= 0)
        return wall_us();
    return b.start_us + (int64_t)((b.due_in + b.span * (double)no / (double)b.jobs) * 1e6);
}

void payload(struct buf *o, uint64_t no, int64_t due, const char *key)
{
    size_t from = o->len;
    uint8_t *rest;

    say(o, "%016" PRId64 " %010" PRIu64 " %s ", due, no, key);
    if (o->len - from >= b.size)
        return;
    rest = buf_reserve(o, b.size - (o->len - from));
    if (rest == NULL)
        die("no memory");
    memset(rest, 'x', b.size - (o->len - from));
    o->len = from + b.size;
}

static void note_late(int64_t late)
{
    if (b.n_late == b.cap_late) {
        b.cap_late = b.cap_late * 2 + 4096;
        b.late = realloc(b.late, b.cap_late * sizeof(*b.late));
        if (b.late == NULL)
            die("no memory");
    }
    b.late[b.n_late++] = late;
}

void note_job(const char *text)
{
    char key[32] = "";
    int64_t due, late;
    uint64_t no, k;

    if (sscanf(text, "%" SCNd64 " %" SCNu64 " %31s", &due, &no, key) < 2)
        die("a payload is not ours: %.60s", text);
    late = wall_us() - due;
    note_late(late);
    b.early += late < 0;
    k = strtoull(key + strcspn(key, "0123456789"), NULL, 10) % KEYS_MAX;
    if (key[0] == b.key[0] && key[0] != '\0') { /* a key of its own number */
        b.disorder += no + 1 < b.last[k];
        b.last[k] = no + 1 > b.last[k] ? no + 1 : b.last[k];
    }
    if (b.only != NULL && strncmp(key, b.only, strlen(b.only)) != 0)
        b.others++;
    else
        b.done++;
}
