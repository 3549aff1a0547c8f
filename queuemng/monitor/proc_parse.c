/* proc_parse.c: the fields of files in /proc. Pure. */
#include "queuemng/monitor/proc_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A copy with a final 0; false if it does not fit. */
static bool copy(char *to, size_t cap, const char *text, size_t n)
{
    if (n >= cap || memchr(text, 0, n) != NULL)
        return false;
    memcpy(to, text, n);
    to[n] = 0;
    return true;
}

int mon_parse_stat(struct mon_cpu *out, const char *text, size_t n, struct err *e)
{
    uint64_t v[8] = { 0 }; /* user nice system idle iowait irq softirq steal */
    const char *nl = memchr(text, '\n', n);
    char line[400];

    if (!copy(line, sizeof(line), text, nl != NULL ? (size_t)(nl - text) : n) ||
        sscanf(line, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 " %" SCNu64, &v[0], &v[1], &v[2], &v[3], &v[4],
               &v[5], &v[6], &v[7]) < 5)
        return err_set(e, SQ_EINVAL, "/proc/stat: no cpu line");
    out->total = 0;
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        out->total += v[i];
    out->busy = out->total - v[3] - v[4];
    return 0;
}

double mon_cpu_percent(const struct mon_cpu *before, const struct mon_cpu *now)
{
    double total = (double)now->total - (double)before->total;
    double busy = (double)now->busy - (double)before->busy;

    if (total <= 0)
        return -1;
    return busy < 0 ? 0 : busy > total ? 100 : busy * 100.0 / total;
}

static bool field(const char *text, const char *name, uint64_t *v)
{
    const char *p = strstr(text, name);

    return p != NULL && (p == text || p[-1] == '\n') &&
           sscanf(p + strlen(name), ": %" SCNu64, v) == 1;
}

int mon_parse_meminfo(double *percent, const char *text, size_t n, struct err *e)
{
    uint64_t total, available;
    char copied[8192];

    if (!copy(copied, sizeof(copied), text, n) || !field(copied, "MemTotal", &total) ||
        !field(copied, "MemAvailable", &available) || total == 0 || available > total)
        return err_set(e, SQ_EINVAL, "/proc/meminfo: no MemTotal and MemAvailable");
    *percent = (double)(total - available) * 100.0 / (double)total;
    return 0;
}

/* pid (name) S ppid ...: the name may hold anything, so the last ')' ends it. */
int mon_parse_proc(struct mon_proc *out, const char *text, size_t n, struct err *e)
{
    const char *from, *to;
    uint64_t user, system;
    char line[1024];

    if (!copy(line, sizeof(line), text, n) || (from = strchr(line, '(')) == NULL ||
        (to = strrchr(line, ')')) == NULL || to < from)
        return err_set(e, SQ_EINVAL, "/proc/PID/stat: no name");
    snprintf(out->name, sizeof(out->name), "%.*s", (int)(to - from - 1), from + 1);
    if (sscanf(to + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
               " %*d %*d %*d %*d %*d %*d %" SCNu64 " %*u %" SCNu64, &user, &system,
               &out->start, &out->rss_pages) != 4)
        return err_set(e, SQ_EINVAL, "/proc/PID/stat: fields are missing");
    out->ticks = user + system;
    return 0;
}
