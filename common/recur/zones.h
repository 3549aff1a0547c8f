/* zones.h: the system's time zones, as common/recur/recur.h asks for them: Debian's tzdata through
 * glibc. Shell.
 *
 * The zone that is asked for becomes the process's own (TZ), and stays it until another one is asked
 * for: nothing else of a task node or manager uses local time, and its only other thread (common/trail) reads
 * neither local time nor the environment. So asking again for the
 * same zone costs 0.2 us, for another one about 40 us. The files lie in TZDIR, or in
 * /usr/share/zoneinfo; those of a newer tzdata count from the next start of the process on.
 *
 * Why glibc: it reads what the system's package keeps up to date (a security update for
 * Debian), to the year 2109 and beyond by the rule at a file's end. ICU would bring 35 MB and
 * rules of its own; libical the same files behind a second reader. */
#ifndef SEGQ_RECUR_ZONES_H
#define SEGQ_RECUR_ZONES_H

#include "common/recur/recur.h"

extern const struct zones system_zones;

#endif
