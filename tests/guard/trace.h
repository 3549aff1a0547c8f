/* trace.h: what the files of tests/guard/trace share.
 *
 *   trace.c         arguments; the line and the segment node's core
 *   trace_router.c  a router, from the bytes of a request to the bytes of its answer
 *   trace_tasks.c   the task node's core
 *
 * Instructions are counted in trace_counted(), trace_task_turn() and ev_turn() only (callgrind's
 * --toggle-collect), so what a trace prepares and what clients do is not in the figures. */
#ifndef SEGQ_TESTS_TRACE_H
#define SEGQ_TESTS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_BATCH 64u /* requests in a frame; connections of the router's clients */

enum trace_request {
    TRACE_POLL, /* that the node answers */
    TRACE_POLL_BROWSER,
    TRACE_KNOWN, /* a poll that the router answers from what the node has pushed */
    TRACE_KNOWN_BROWSER,
    TRACE_JOIN,
    TRACE_ENTRY, /* a join that the node lets in at once: its answer has the pass */
    TRACE_PUT    /* a task of 1 KB is submitted, with a server's token */
};

/* n is rounded up to whole batches. Ends the program when something is not as expected:
 * figures of a path that fails are worth nothing. */
void trace_router(enum trace_request kind, uint32_t n);
/* n submissions; works: each is taken and acknowledged, too. */
void trace_tasks(bool works, uint32_t n);
void trace_die(const char *what) __attribute__((noreturn));

#endif
