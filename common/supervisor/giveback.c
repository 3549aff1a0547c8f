/* giveback.c: looks at /proc/self/statm, asks the C library for what is free. Where there is
 * no /proc, or under a sanitizer (whose heap is not the library's), nothing happens. */
#include "common/supervisor/giveback.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"

#define LOG_MODULE "memory"

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
    uint64_t all, resident, shared;
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &all, &resident, &shared) != 3)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void look(void *arg)
{
    struct giveback *g = arg;
    uint64_t has = own_bytes();

    ev_timer_at(g->timer, ev_now(g->ev) + GIVEBACK_LOOK_MS);
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
