/* failpoint.c: see the header. Empty, unless it is a test build. */
#include "common/base/failpoint.h"

#ifdef SEGQ_FAILPOINTS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOTED_MAX 32
#define NAME_BYTES 32

static char noted[NOTED_MAX][NAME_BYTES];
static unsigned n_noted;

/* Several processes may see the file: only the process that removes it fails. */
static bool take(const char *path, char *text, size_t cap)
{
    FILE *f = fopen(path, "re");
    size_t n;

    if (f == NULL)
        return false;
    n = fread(text, 1, cap - 1, f);
    text[n] = 0;
    fclose(f);
    return unlink(path) == 0;
}

static void wait_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

/* "after N rest": the file becomes "after N-1 rest", at the end "rest". */
static bool put_off(const char *path)
{
    char text[64] = "", other[544], *rest;
    FILE *f = fopen(path, "re");
    long n;

    if (f == NULL)
        return false;
    n = fgets(text, sizeof(text), f) != NULL && strncmp(text, "after ", 6) == 0
            ? strtol(text + 6, &rest, 10)
            : 0;
    fclose(f);
    if (n <= 0)
        return false;
    snprintf(other, sizeof(other), "%s.%ld", path, (long)getpid());
    f = fopen(other, "we");
    if (f == NULL)
        return false;
    if (n > 1)
        fprintf(f, "after %ld%s", n - 1, rest);
    else
        fputs(rest + strspn(rest, " "), f);
    fclose(f);
    return rename(other, path) == 0;
}

bool failpoint_here(const char *what, const char *when)
{
    const char *dir = getenv("SEGQ_FAILPOINTS");
    char path[512], text[64];

    if (dir == NULL)
        return false;
    snprintf(path, sizeof(path), "%s/%s%s%s", dir, what, when != NULL ? "." : "",
             when != NULL ? when : "");
    if (access(path, F_OK) < 0 || put_off(path) || !take(path, text, sizeof(text)))
        return false;
    fprintf(stderr, "failpoint %s\n", path);
    if (strncmp(text, "kill", 4) == 0)
        (void)kill(getpid(), SIGKILL);
    else if (strncmp(text, "pause ", 6) == 0)
        wait_ms(strtol(text + 6, NULL, 10));
    return strncmp(text, "error", 5) == 0;
}

void failpoint_note(const char *what)
{
    for (unsigned i = 0; i < n_noted; i++)
        if (strcmp(noted[i], what) == 0)
            return;
    if (n_noted < NOTED_MAX)
        snprintf(noted[n_noted++], NAME_BYTES, "%s", what);
}

void failpoint_noted(const char *when, int last)
{
    for (unsigned i = 0; i < n_noted; i++)
        (void)failpoint_here(noted[i], when);
    if (last)
        n_noted = 0;
}
#endif
