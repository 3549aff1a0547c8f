/* disk.h: a disk (common/journal/disk.h) in memory that forgets, fills up and breaks, by seed.
 *
 * Each file has what the kernel shows and what is on the disk. Between the two are written
 * sectors not yet synced, and the names made, changed and removed since the last sync of
 * the folder. A power cut keeps any part of the sectors, some of them torn, and some first
 * part of the name changes. A sync that fails does what Linux does: the pages are called
 * clean, though they are not on the disk. */
#ifndef SEGQ_TESTS_SIMDISK_H
#define SEGQ_TESTS_SIMDISK_H

#include "common/journal/disk.h"

struct simdisk;

struct simdisk *simdisk_new(uint64_t seed); /* exits the program without memory */
void simdisk_free(struct simdisk *s);       /* not by the journal: its disk's free does nothing */
struct disk *simdisk_disk(struct simdisk *s);

/* The process is gone: handles and lock too; what the kernel had is still there. */
void simdisk_kill(struct simdisk *s);
/* A power cut: kill, and of what was not synced only a part is left. */
void simdisk_crash(struct simdisk *s);

/* Faults. Calls are counted from the last of these; k = 1 is the next one. */
void simdisk_fail_at(struct simdisk *s, uint64_t k, int error); /* once; 0 = never */
void simdisk_die_at(struct simdisk *s, uint64_t k); /* from then on all fail, without effect,
                                                     * until kill or crash */
uint64_t simdisk_calls(const struct simdisk *s);
bool simdisk_is_dead(const struct simdisk *s);
void simdisk_set_room(struct simdisk *s, uint64_t bytes); /* of all files; UINT64_MAX */
uint64_t simdisk_used(const struct simdisk *s);
void simdisk_break(struct simdisk *s, double chance, int error); /* writes and syncs; 0: mended */
void simdisk_set_short(struct simdisk *s, double chance); /* short and interrupted calls */

/* Files as the kernel shows them. NULL: no such file. The bytes may be changed in place. */
uint8_t *simdisk_bytes(struct simdisk *s, const char *name, size_t *n);
void simdisk_put(struct simdisk *s, const char *name, const void *p, size_t n); /* synced */
void simdisk_remove(struct simdisk *s, const char *name);
size_t simdisk_names(struct simdisk *s, char out[][64], size_t max);

#endif
