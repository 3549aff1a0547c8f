/* zonerig.h: the zones of tests/lib/zones.txt, compiled by zic (libc-bin) into a folder of their
 * own, whatever tzdata the machine has. */
#ifndef SEGQ_TESTS_ZONERIG_H
#define SEGQ_TESTS_ZONERIG_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Once in a process, which finds them from then on (TZDIR). False: zic does not work. */
static inline bool zonerig_begin(char dir[static 64])
{
    char command[256];

    snprintf(dir, 64, "/tmp/segq-zones-%d", (int)getpid());
    snprintf(command, sizeof(command), "/usr/sbin/zic -b fat -d %s tests/lib/zones.txt", dir);
    return system(command) == 0 && setenv("TZDIR", dir, 1) == 0;
}

static inline void zonerig_end(const char *dir)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r %s", dir);
    if (system(command) != 0)
        abort();
}

#endif
