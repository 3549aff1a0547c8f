/* count.c: to be preloaded: counts calls of malloc and its family, and system calls by
 * their libc functions, of routers and segment nodes into the file named by
 * SEGQ_COUNT_FILE (struct count_file; it must be there).
 *
 * Memory goes on to glibc's own entrances (__libc_malloc ...), system calls straight to
 * syscall(2): no dlsym, which allocates. What libc calls for itself (stdio, getaddrinfo)
 * is not seen; the hot path has none of it. Before the constructor, and in processes of
 * other names, calls are counted into a place that nobody reads. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* the checked forms are defined here, too */
#include "tests/guard/count.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static struct count_proc nobody, *mine = &nobody;

/* Where the code of libssl and libcrypto is. */
static struct range {
    uintptr_t from, to;
} openssl[2];
static int n_openssl;

static int note_openssl(struct dl_phdr_info *o, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    if (strstr(o->dlpi_name, "/libssl.") == NULL && strstr(o->dlpi_name, "/libcrypto.") == NULL)
        return 0;
    for (int i = 0; i < o->dlpi_phnum && n_openssl < 2; i++)
        if (o->dlpi_phdr[i].p_type == PT_LOAD && (o->dlpi_phdr[i].p_flags & PF_X) != 0) {
            uintptr_t from = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;

            openssl[n_openssl++] = (struct range) { from, from + o->dlpi_phdr[i].p_memsz };
        }
    return 0;
}

static inline enum count_call by(const void *caller, enum count_call c)
{
    for (int i = 0; i < n_openssl; i++)
        if ((uintptr_t)caller >= openssl[i].from && (uintptr_t)caller < openssl[i].to)
            return COUNT_openssl;
    return c;
}

static inline void count(enum count_call c)
{
    __atomic_fetch_add(&mine->n[c], 1, __ATOMIC_RELAXED);
}

static void claim(struct count_file *f)
{
    for (int i = 0; i < COUNT_PROCS; i++) {
        int32_t is_free = 0;

        if (!__atomic_compare_exchange_n(&f->proc[i].pid, &is_free, (int32_t)getpid(), 0,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        strncpy(f->proc[i].name, program_invocation_short_name,
                sizeof(f->proc[i].name) - 1);
        mine = &f->proc[i];
        return;
    }
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv(COUNT_ENV), *name = program_invocation_short_name;
    void *p;
    int fd;

    if (path == NULL || (strcmp(name, "router") != 0 && strcmp(name, "segment") != 0))
        return;
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    p = mmap(NULL, sizeof(struct count_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    dl_iterate_phdr(note_openssl, NULL);
    if (p != MAP_FAILED)
        claim(p);
}

/* ---- memory -------------------------------------------------------------------------- */

void *malloc(size_t n)
{
    count(by(__builtin_return_address(0), COUNT_malloc));
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count(by(__builtin_return_address(0), COUNT_calloc));
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count(by(__builtin_return_address(0), COUNT_realloc));
    return __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}

void free(void *p)
{
    if (p != NULL) /* free(NULL) costs nothing and says nothing */
        count(by(__builtin_return_address(0), COUNT_free));
    __libc_free(p);
}

void *memalign(size_t align, size_t n)
{
    count(COUNT_memalign);
    return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    void *p = memalign(align, n);

    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

/* ---- system calls -------------------------------------------------------------------- */

ssize_t read(int fd, void *p, size_t n)
{
    count(COUNT_read);
    return syscall(SYS_read, fd, p, n);
}

ssize_t __read_chk(int fd, void *p, size_t n, size_t room);
ssize_t __read_chk(int fd, void *p, size_t n, size_t room)
{
    if (n > room)
        abort();
    return read(fd, p, n);
}

ssize_t readv(int fd, const struct iovec *v, int n)
{
    count(COUNT_readv);
    return syscall(SYS_readv, fd, v, n);
}

ssize_t recvfrom(int fd, void *restrict p, size_t n, int flags,
                 struct sockaddr *restrict from, socklen_t *restrict len)
{
    count(COUNT_recv);
    return syscall(SYS_recvfrom, fd, p, n, flags, from, len);
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
    return recvfrom(fd, p, n, flags, NULL, NULL);
}

ssize_t __recv_chk(int fd, void *p, size_t n, size_t room, int flags);
ssize_t __recv_chk(int fd, void *p, size_t n, size_t room, int flags)
{
    if (n > room)
        abort();
    return recv(fd, p, n, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    count(COUNT_recvmsg);
    return syscall(SYS_recvmsg, fd, m, flags);
}

ssize_t write(int fd, const void *p, size_t n)
{
    count(COUNT_write);
    return syscall(SYS_write, fd, p, n);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
    count(COUNT_writev);
    return syscall(SYS_writev, fd, v, n);
}

ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *to,
               socklen_t len)
{
    count(COUNT_send);
    return syscall(SYS_sendto, fd, p, n, flags, to, len);
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
    return sendto(fd, p, n, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    count(COUNT_sendmsg);
    return syscall(SYS_sendmsg, fd, m, flags);
}

int accept4(int fd, struct sockaddr *restrict a, socklen_t *restrict len, int flags)
{
    count(COUNT_accept);
    return (int)syscall(SYS_accept4, fd, a, len, flags);
}

int accept(int fd, struct sockaddr *restrict a, socklen_t *restrict len)
{
    return accept4(fd, a, len, 0);
}

int epoll_pwait(int fd, struct epoll_event *v, int max, int ms, const sigset_t *mask)
{
    count(COUNT_epoll_wait);
    return (int)syscall(SYS_epoll_pwait, fd, v, max, ms, mask, _NSIG / 8);
}

int epoll_wait(int fd, struct epoll_event *v, int max, int ms)
{
    return epoll_pwait(fd, v, max, ms, NULL);
}

int epoll_pwait2(int fd, struct epoll_event *v, int max, const struct timespec *t,
                 const sigset_t *mask)
{
    count(COUNT_epoll_wait);
    return (int)syscall(SYS_epoll_pwait2, fd, v, max, t, mask, _NSIG / 8);
}

int epoll_ctl(int fd, int op, int of, struct epoll_event *e)
{
    count(COUNT_epoll_ctl);
    return (int)syscall(SYS_epoll_ctl, fd, op, of, e);
}

int ppoll(struct pollfd *v, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
    struct timespec left = t != NULL ? *t : (struct timespec) { 0 };

    count(COUNT_poll);
    return (int)syscall(SYS_ppoll, v, n, t != NULL ? &left : NULL, mask, _NSIG / 8);
}

int poll(struct pollfd *v, nfds_t n, int ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

    return ppoll(v, n, ms >= 0 ? &t : NULL, NULL);
}

int close(int fd)
{
    count(COUNT_close);
    return (int)syscall(SYS_close, fd);
}

/* Returns the error and leaves errno alone, unlike all others. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
                    struct timespec *left)
{
    int was = errno, rc;

    count(COUNT_sleep);
    rc = syscall(SYS_clock_nanosleep, clock, flags, t, left) == 0 ? 0 : errno;
    errno = was;
    return rc;
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
    count(COUNT_sleep);
    return (int)syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, t, left);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *t, struct itimerspec *was)
{
    count(COUNT_timerfd_settime);
    return (int)syscall(SYS_timerfd_settime, fd, flags, t, was);
}

int setsockopt(int fd, int level, int name, const void *v, socklen_t n)
{
    count(COUNT_setsockopt);
    return (int)syscall(SYS_setsockopt, fd, level, name, v, n);
}

int shutdown(int fd, int how)
{
    count(COUNT_shutdown);
    return (int)syscall(SYS_shutdown, fd, how);
}
