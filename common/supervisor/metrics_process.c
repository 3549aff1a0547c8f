/* metrics_process.c: what the kernel says about this process: under the names that Prometheus' client
 * libraries use (what cannot be read is left out), as a node's own figures, and to give memory back. */
#include "common/supervisor/metrics_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/supervisor/program.h"
#include "version.h"

#define LOG_MODULE "memory"

/* Seconds since the epoch when the machine started; 0 if not known. */
static double boot_time_s(void)
{
    FILE *f = fopen("/proc/stat", "re");
    char line[512];
    double s = 0;

    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "btime %lf", &s) == 1)
            break;
    fclose(f);
    return s;
}

static void from_stat(struct buf *b)
{
    FILE *f = fopen("/proc/self/stat", "re");
    unsigned long long start = 0, vsize = 0;
    char line[1024], *p;
    long rss = 0;
    double boot;

    if (f == NULL)
        return;
    p = fgets(line, sizeof(line), f);
    fclose(f);
    p = p == NULL ? NULL : strrchr(line, ')'); /* the name before it may hold anything */
    if (p == NULL || sscanf(p + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
                            " %*d %*d %*d %*d %llu %llu %ld",
                            &start, &vsize, &rss) != 3)
        return;
    metrics_value(b, "process_resident_memory_bytes", METRIC_GAUGE,
                  "Resident memory size in bytes.", (double)rss * (double)sysconf(_SC_PAGESIZE));
    metrics_value(b, "process_virtual_memory_bytes", METRIC_GAUGE,
                  "Virtual memory size in bytes.", (double)vsize);
    boot = boot_time_s();
    if (boot > 0)
        metrics_value(b, "process_start_time_seconds", METRIC_GAUGE,
                      "Start time since the epoch in seconds.",
                      boot + (double)start / (double)sysconf(_SC_CLK_TCK));
}

static void open_fds(struct buf *b)
{
    DIR *d = opendir("/proc/self/fd");
    struct rlimit lim;
    unsigned n = 0;

    if (d != NULL) {
        while (readdir(d) != NULL)
            n++;
        closedir(d);
        metrics_value(b, "process_open_fds", METRIC_GAUGE,
                      "Number of open file descriptors.",
                      n > 3 ? n - 3 : 0); /* ".", ".." and the one just closed */
    }
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0)
        metrics_value(b, "process_max_fds", METRIC_GAUGE,
                      "Maximum number of open file descriptors.", (double)lim.rlim_cur);
}

/* User and system time; < 0: not known. */
static double cpu_s(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) < 0)
        return -1;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void metrics_process(struct buf *b, const char *program, const char *region, const char *zone)
{
    const char *labels[] = { "program", program, "version", SEGQ_VERSION, NULL };
    const char *where[] = { "region", region, "zone", zone, NULL };
    double cpu = cpu_s();

    metrics_head(b, "segq_build_info", METRIC_GAUGE, "Always 1; its labels say what runs.");
    metrics_u64(b, "segq_build_info", labels, 1);
    if (region != NULL && zone != NULL && (region[0] != '\0' || zone[0] != '\0')) {
        metrics_head(b, "segq_region_info", METRIC_GAUGE, "Always 1; its labels say where it runs.");
        metrics_u64(b, "segq_region_info", where, 1);
    }
    if (cpu >= 0)
        metrics_value(b, "process_cpu_seconds_total", METRIC_COUNTER,
                      "Total user and system CPU time spent in seconds.", cpu);
    from_stat(b);
    open_fds(b);
}

/* Bytes that are resident, and those of them that files share; 0: not known. */
static uint64_t rss_bytes(uint64_t *shared)
{
    uint64_t all, resident, page = (uint64_t)sysconf(_SC_PAGESIZE);
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    if (fd >= 0)
        close(fd);
    *shared = 0;
    if (n <= 0)
        return 0;
    text[n] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &all, &resident, shared) != 3)
        return 0;
    *shared *= page;
    return resident * page;
}

struct own_figures own_load_look(struct own_load *l, msec_t now_ms, int64_t wall_ms)
{
    uint64_t shared;
    struct own_figures f = { .rss_bytes = rss_bytes(&shared), .version = SEGQ_VERSION };
    double cpu = cpu_s();

    if (l->looked_ms != 0 && now_ms > l->looked_ms)
        f.cpu_permille = (uint32_t)((cpu - l->cpu_s) * 1e6 / (double)(now_ms - l->looked_ms));
    if (l->started_ms == 0)
        l->started_ms = wall_ms;
    l->looked_ms = now_ms;
    l->cpu_s = cpu;
    f.started_ms = l->started_ms;
    return f;
}

/* ---- giving memory back ----
 *
 * Looks at /proc/self/statm, asks the C library for what is free. Where there is no /proc, or under
 * a sanitizer (whose heap is not the library's), nothing happens. */

struct giveback {
    struct ev *ev; /* ref */
    struct ev_timer *timer;
    uint64_t low; /* see giveback_due() */
    bool again;   /* the last look gave something back: the crowd may still be leaving */
};

bool giveback_due(uint64_t *low, uint64_t has)
{
    uint64_t step = *low / 8 > GIVEBACK_LEAST ? *low / 8 : GIVEBACK_LEAST;

    if (*low == 0 || has < *low)
        *low = has;
    return has >= *low + step;
}

/* Bytes of its own, resident; 0: not known. */
static uint64_t own_bytes(void)
{
    uint64_t shared, resident = rss_bytes(&shared);

    return resident - shared;
}

static void look(void *arg)
{
    struct giveback *g = arg;
    uint64_t has = own_bytes();

    ev_timer_about(g->timer, GIVEBACK_LOOK_MS);
    if (has == 0)
        return;
    if (!g->again && (!giveback_due(&g->low, has) || mallinfo2().fordblks < GIVEBACK_LEAST))
        return;
    malloc_trim(GIVEBACK_LEAST / 8);
    g->low = own_bytes();
    g->again = has >= g->low + GIVEBACK_LEAST / 8;
    if (g->again)
        log_info("event=given_back bytes=%" PRIu64 " left=%" PRIu64, has - g->low, g->low);
}

int giveback_new(struct giveback **out, struct ev *ev, struct err *e)
{
    struct giveback *g = calloc(1, sizeof(*g));

    if (g != NULL)
        g->timer = ev_timer_new(ev, look, g);
    if (g == NULL || g->timer == NULL) {
        free(g);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    g->ev = ev;
    look(g);
    *out = g;
    return 0;
}

void giveback_free(struct giveback *g)
{
    if (g == NULL)
        return;
    ev_timer_free(g->timer);
    free(g);
}
