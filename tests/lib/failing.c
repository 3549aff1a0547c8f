/* failing.c: see the header. */
#include "tests/lib/failing.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);

static uint64_t count, first, many, failed;
static bool armed, paused;

void failing_arm(uint64_t k, uint64_t n)
{
    count = failed = 0;
    first = k;
    many = n;
    armed = true;
    paused = false;
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

static bool fails(void)
{
    if (!armed || paused)
        return false;
    count++;
    if (first == 0 || count < first || count - first >= many)
        return false;
    failed++;
    errno = ENOMEM;
    return true;
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
