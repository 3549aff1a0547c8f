/* main.c: load: a load generator that costs less than what it measures. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/bench/load/opts.h"
#include "tests/bench/load/run.h"

#define OTHER_FDS 32

/* A descriptor per connection: most systems start with 1024. */
static int make_room(uint32_t conns, struct err *e)
{
    rlim_t want = (rlim_t)conns + OTHER_FDS;
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0)
        return err_set(e, SQ_ESYS, "getrlimit: %s", strerror(errno));
    if (r.rlim_cur >= want)
        return 0;
    r.rlim_cur = want;
    if (r.rlim_max < want)
        r.rlim_max = want; /* root may */
    if (setrlimit(RLIMIT_NOFILE, &r) < 0)
        return err_set(e, SQ_ESYS, "%u connections: %s (ulimit -n)", conns,
                       strerror(errno));
    return 0;
}

int main(int argc, char **argv)
{
    struct opts o;
    struct err e = { 0 };
    int rc = opts_parse(&o, argc, argv);

    if (rc >= 0)
        return rc;
    prctl(PR_SET_TIMERSLACK, 1); /* 50 us, else: longer than the gaps of a fast plan */
    rc = make_room(o.idle != 0 ? o.idle : o.conns, &e);
    if (rc == 0)
        rc = o.idle != 0 ? run_idle(&o, &e) : run_load(&o, &e);
    if (rc == 0)
        return 0;
    fprintf(stderr, "load: %s\n", e.text);
    return rc == SQ_EINVAL || rc == SQ_ETOOBIG ? 2 : 1;
}
