/* failing.h: allocations, or calls of the kernel, that fail when a test says so. The linker
 * puts these in place of malloc and its family (and of mmap, from which slabs come), and of
 * accept4, recv, read and send, in all that is our own code: the Makefile's rule for
 * test_torture_*. Libraries keep theirs. */
#ifndef SEGQ_TESTS_FAILING_H
#define SEGQ_TESTS_FAILING_H

#include <stdbool.h>
#include <stdint.h>

#define FAILING_ALL UINT64_MAX

/* From here on the k-th allocation (1 = the next) and the n - 1 after it fail. k = 0: none. */
void failing_arm(uint64_t k, uint64_t n);
/* The same for calls of the kernel; they fail with this errno. */
void failing_arm_io(uint64_t k, uint64_t n, int with);
/* No more. true: at least one has failed. */
bool failing_disarm(void);
/* Not counted, never failing, until switched on again: what belongs to the test. */
void failing_pause(bool on);

#endif
