/* failing.c: see the header. */
#include "tests/lib/failing.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
int __real_accept4(int fd, struct sockaddr *a, socklen_t *n, int flags);
ssize_t __real_recv(int fd, void *p, size_t n, int flags);
ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __real_send(int fd, const void *p, size_t n, int flags);

int __wrap_accept4(int fd, struct sockaddr *a, socklen_t *n, int flags);
ssize_t __wrap_recv(int fd, void *p, size_t n, int flags);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_send(int fd, const void *p, size_t n, int flags);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);

static uint64_t count, first, many, failed;
static bool armed, paused, io;
static int error;

static void arm(uint64_t k, uint64_t n)
{
    count = failed = 0;
    first = k;
    many = n;
    armed = true;
    paused = false;
}

void failing_arm(uint64_t k, uint64_t n)
{
    io = false;
    error = ENOMEM;
    arm(k, n);
}

void failing_arm_io(uint64_t k, uint64_t n, int with)
{
    io = true;
    error = with;
    arm(k, n);
}

bool failing_disarm(void)
{
    armed = false;
    return failed > 0;
}

void failing_pause(bool on)
{
    paused = on;
}

static bool falls(bool is_io)
{
    if (!armed || paused || io != is_io)
        return false;
    count++;
    if (first == 0 || count < first || count - first >= many)
        return false;
    failed++;
    errno = error;
    return true;
}

static bool fails(void)
{
    return falls(false);
}

int __wrap_accept4(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
    return falls(true) ? -1 : __real_accept4(fd, a, n, flags);
}

ssize_t __wrap_recv(int fd, void *p, size_t n, int flags)
{
    return falls(true) ? -1 : __real_recv(fd, p, n, flags);
}

ssize_t __wrap_read(int fd, void *p, size_t n)
{
    return falls(true) ? -1 : __real_read(fd, p, n);
}

ssize_t __wrap_send(int fd, const void *p, size_t n, int flags)
{
    return falls(true) ? -1 : __real_send(fd, p, n, flags);
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
    return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
    return fails() ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, off);
}
