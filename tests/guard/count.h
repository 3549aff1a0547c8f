/* count.h: what count.so writes and counts reads: calls by process, in a shared file. */
#ifndef SEGQ_TESTS_COUNT_H
#define SEGQ_TESTS_COUNT_H

#include <stdint.h>

#define COUNT_ENV   "SEGQ_COUNT_FILE"
#define COUNT_PROCS 64

/* Memory, then system calls: counts prints a sum of each. memory ends with memalign. openssl: calls
 * of both kinds by libssl and libcrypto, which are in no other count. */
#define COUNT_MEMORY(X)                                                                  \
    X(malloc) X(calloc) X(realloc) X(free) X(memalign)
#define COUNT_SYSTEM(X)                                                                  \
    X(read) X(readv) X(recv) X(recvmsg) X(write) X(writev) X(send) X(sendmsg) X(accept)  \
    X(epoll_wait) X(epoll_ctl) X(poll) X(close) X(sleep) X(timerfd_settime)              \
    X(setsockopt) X(shutdown)

enum count_call {
#define X(name) COUNT_##name,
    COUNT_MEMORY(X) COUNT_SYSTEM(X)
#undef X
    COUNT_openssl,
    COUNT_NCALLS
};

struct count_proc {
    int32_t pid; /* 0: free */
    char name[20];
    uint64_t n[COUNT_NCALLS];
};

struct count_file {
    struct count_proc proc[COUNT_PROCS];
};

#endif
