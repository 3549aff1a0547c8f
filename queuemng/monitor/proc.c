/* proc.c: percentages of processor and memory, of the machine or of processes. */
#include "queuemng/monitor/proc.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/json.h"

static int slurp(const char *path, char *buf, size_t cap, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n, len = 0;

    if (fd < 0)
        return err_set(e, SQ_ESYS, "%.100s: %s", path, strerror(errno));
    while ((size_t)len < cap && (n = read(fd, buf + len, cap - (size_t)len)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            close(fd);
            return err_set(e, SQ_ESYS, "%.100s: %s", path, strerror(errno));
        }
        len += n;
    }
    close(fd);
    assert(len >= 0 && (size_t)len <= cap);
    return (int)len;
}

static int machine(struct mon_proc_state *s, const struct metric_def *d, double *value,
                   struct err *e)
{
    struct mon_cpu now, before = s->cpu;
    bool known = s->known;
    char text[8000];
    int n;

    n = slurp(d->what == METRIC_MEMORY ? "/proc/meminfo" : "/proc/stat", text, sizeof(text),
              e);
    if (n < 0)
        return n;
    if (d->what == METRIC_MEMORY)
        return mon_parse_meminfo(value, text, (size_t)n, e);
    n = mon_parse_stat(&now, text, (size_t)n, e);
    if (n < 0)
        return n;
    *value = mon_cpu_percent(&before, &now);
    if (known && *value < 0)
        return SQ_EBUSY; /* no tick has passed: the next time */
    s->cpu = now;
    s->known = true;
    return known ? 0 : SQ_EBUSY;
}

/* ---- processes ------------------------------------------------------------------- */

struct found {
    struct mon_known *v; /* owned */
    size_t n;
    uint64_t rss_pages;
};

static int add(struct found *f, int pid, const char *name, struct err *e)
{
    char path[64], text[1024];
    struct mon_known *v;
    struct mon_proc p;
    int n;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    n = slurp(path, text, sizeof(text), e);
    if (n < 0)
        return n;
    n = mon_parse_proc(&p, text, (size_t)n, e);
    if (n < 0 || (name != NULL && strcmp(name, p.name) != 0))
        return n;
    if (f->n == MON_PROCS_MAX)
        return 0;
    v = realloc(f->v, (f->n + 1) * sizeof(*v));
    if (v == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    f->v = v;
    v[f->n++] = (struct mon_known){ pid, p.start, p.ticks };
    f->rss_pages += p.rss_pages;
    return 0;
}

static int by_name(struct found *f, const char *name, struct err *e)
{
    DIR *dir = opendir("/proc");
    const struct dirent *de;

    if (dir == NULL)
        return err_set(e, SQ_ESYS, "/proc: %s", strerror(errno));
    while ((de = readdir(dir)) != NULL)
        if (isdigit((unsigned char)de->d_name[0]))
            (void)!add(f, atoi(de->d_name), name, e); /* perhaps gone by now */
    closedir(dir);
    return f->n > 0 ? 0 : err_set(e, SQ_EUNKNOWN, "no process is named %s", name);
}

static int by_pid_file(struct found *f, const char *file, struct err *e)
{
    char text[32];
    int n = slurp(file, text, sizeof(text) - 1, e);

    if (n < 0)
        return n;
    text[n] = 0;
    n = atoi(text);
    if (n <= 0)
        return err_set(e, SQ_EINVAL, "%.100s holds no pid", file);
    return add(f, n, NULL, e);
}

/* Ticks spent since the last reading; a process that is new since then counts from its
 * beginning (only its first reading ever is skipped, by the caller). */
static uint64_t spent(const struct mon_proc_state *s, const struct found *f)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < f->n; i++) {
        uint64_t before = 0;

        for (size_t k = 0; k < s->n; k++)
            if (s->v[k].pid == f->v[i].pid && s->v[k].start == f->v[i].start)
                before = s->v[k].ticks;
        if (f->v[i].ticks > before)
            sum += f->v[i].ticks - before;
    }
    return sum;
}

static int processes(struct mon_proc_state *s, const struct metric_def *d, msec_t now_ms,
                     double *value, struct err *e)
{
    struct found f = { 0 };
    bool known = s->known && now_ms > s->at_ms;
    int rc = d->pid_file[0] != 0 ? by_pid_file(&f, d->pid_file, e)
                                 : by_name(&f, d->process, e);

    if (rc < 0) {
        free(f.v);
        s->known = false;
        return rc;
    }
    if (d->what == METRIC_MEMORY) {
        *value = (double)f.rss_pages * 100.0 / (double)sysconf(_SC_PHYS_PAGES);
        free(f.v);
        return 0;
    }
    *value = (double)spent(s, &f) * 100000.0 /
             ((double)sysconf(_SC_CLK_TCK) * (double)ms_max(1, now_ms - s->at_ms));
    assert(f.n <= MON_PROCS_MAX);
    free(s->v);
    s->v = f.v;
    s->n = f.n;
    s->at_ms = now_ms;
    s->known = true;
    return known ? 0 : SQ_EBUSY;
}

int mon_proc_read(struct mon_proc_state *s, const struct metric_def *d, msec_t now_ms,
                  double *value, struct err *e)
{
    if (d->pid_file[0] == 0 && d->process[0] == 0)
        return machine(s, d, value, e);
    return processes(s, d, now_ms, value, e);
}

void mon_proc_fini(struct mon_proc_state *s)
{
    free(s->v);
    *s = (struct mon_proc_state){ 0 };
}

/* The fields of files in /proc. Pure. */

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

/* [ <unix seconds>, "<value>" ] */
static int pair(struct sample_value *out, const json_t *v, struct err *e)
{
    const json_t *when = json_array_get(v, 0);
    const char *text = json_string_value(json_array_get(v, 1));
    double s = json_number_value(when);
    char *end;

    if (json_array_size(v) != 2 || !json_is_number(when) || text == NULL)
        return err_set(e, SQ_EINVAL, "answer: no [time, \"value\"] pair");
    out->value = strtod(text, &end);
    if (end == text || *end != 0 || strpbrk(text, "xXpP") != NULL)
        return err_set(e, SQ_EINVAL, "answer: the value is not a number");
    if (!isfinite(out->value))
        return err_set(e, SQ_EINVAL, "answer: the value is %g", out->value);
    if (!(s > 0 && s < 1e11))
        return err_set(e, SQ_EINVAL, "answer: the time is %g", s);
    out->wall_ms = (int64_t)(s * 1000.0);
    return 0;
}

static int result(struct sample_value *out, const json_t *data, struct err *e)
{
    const char *type = json_string_value(json_object_get(data, "resultType"));
    const json_t *r = json_object_get(data, "result");

    if (type != NULL && strcmp(type, "scalar") == 0)
        return pair(out, r, e);
    if (type == NULL || strcmp(type, "vector") != 0)
        return err_set(e, SQ_EINVAL, "answer: a vector or a scalar is wanted, not %.20s",
                       type != NULL ? type : "nothing");
    if (json_array_size(r) == 0)
        return err_set(e, SQ_EINVAL, "answer: empty vector (no such series?)");
    if (json_array_size(r) > 1)
        return err_set(e, SQ_EINVAL, "answer: %zu series, one is wanted (sum or max them)",
                       json_array_size(r));
    return pair(out, json_object_get(json_array_get(r, 0), "value"), e);
}

static int status(struct sample_value *out, const json_t *j, struct err *e)
{
    const char *st = json_string_value(json_object_get(j, "status"));
    const char *why = json_string_value(json_object_get(j, "error"));

    if (st == NULL)
        return err_set(e, SQ_EINVAL, "answer: no status");
    if (strcmp(st, "success") != 0)
        return err_set(e, SQ_EINVAL, "answer: status %.20s: %.80s", st,
                       why != NULL ? why : "");
    return result(out, json_object_get(j, "data"), e);
}

int mon_parse_api(struct sample_value *out, const char *text, size_t n, struct err *e)
{
    json_error_t je;
    json_t *j = json_in(text, n, &je);
    int rc;

    if (j == NULL)
        return err_set(e, SQ_EINVAL, "answer is not JSON: line %d: %.80s", je.line, je.text);
    rc = status(out, j, e);
    json_decref(j);
    return rc;
}

int mon_rate_step(struct mon_rate *r, double counter, msec_t taken_ms, double *out)
{
    struct mon_rate old = *r;
    double grown = counter >= old.last ? counter - old.last : counter;

    if (old.known && taken_ms <= old.last_ms)
        return SQ_EBUSY;
    *r = (struct mon_rate){ counter, taken_ms, true };
    if (!old.known)
        return SQ_EBUSY;
    assert(taken_ms > old.last_ms);
    *out = grown * 1000.0 / (double)(taken_ms - old.last_ms);
    return 0;
}
