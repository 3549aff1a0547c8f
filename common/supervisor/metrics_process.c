/* metrics_process.c: what the kernel says about this process, under the names that
 * Prometheus' client libraries use. What cannot be read is left out. */
#include "common/supervisor/metrics_process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/metrics.h"
#include "common/supervisor/prog.h"
#include "version.h"

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

void metrics_process(struct buf *b, const char *program)
{
    const char *labels[] = { "program", program, "version", SEGQ_VERSION, NULL };
    struct rusage u;

    metrics_head(b, "segq_build_info", METRIC_GAUGE, "Always 1; its labels say what runs.");
    metrics_u64(b, "segq_build_info", labels, 1);
    if (getrusage(RUSAGE_SELF, &u) == 0) {
        metrics_head(b, "process_cpu_seconds_total", METRIC_COUNTER,
                     "Total user and system CPU time spent in seconds.");
        metrics_f64(b, "process_cpu_seconds_total", NULL,
                    (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                        (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
    }
    from_stat(b);
    open_fds(b);
}
