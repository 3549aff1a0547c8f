/* own_load.c: see the header. */
#include "common/supervisor/own_load.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "version.h"

static double cpu_s(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) < 0)
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static uint64_t rss_bytes(void)
{
    uint64_t all, resident;
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return sscanf(text, "%" SCNu64 " %" SCNu64, &all, &resident) == 2
               ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

struct own_figures own_load_look(struct own_load *l, msec_t now_ms, int64_t wall_ms)
{
    struct own_figures f = { .rss_bytes = rss_bytes(), .version = SEGQ_VERSION };
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
