/* counts.c: prints what count.so has counted:
 *
 *   counts FILE new    makes the file, empty
 *   counts FILE        a line per process and call: PID NAME CALL N; besides the calls
 *                      also their sums, `memory` and `system` */
#include "tests/guard/count.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const call_name[] = {
#define X(name) #name,
    COUNT_MEMORY(X) COUNT_SYSTEM(X)
#undef X
    "openssl",
};

static void line(const struct count_proc *p, const char *what, uint64_t n)
{
    printf("%" PRId32 " %s %s %" PRIu64 "\n", p->pid, p->name, what, n);
}

static void print(const struct count_proc *p)
{
    uint64_t memory = 0, system = 0;

    for (int i = 0; i < COUNT_NCALLS; i++) {
        uint64_t n = __atomic_load_n(&p->n[i], __ATOMIC_RELAXED);

        line(p, call_name[i], n);
        if (i != COUNT_openssl)
            *(i <= COUNT_memalign ? &memory : &system) += n;
    }
    line(p, "memory", memory);
    line(p, "system", system);
}

int main(int argc, char **argv)
{
    int make = argc == 3 && strcmp(argv[2], "new") == 0, fd;
    struct count_file *f;

    if (argc != 2 && !make) {
        fprintf(stderr, "usage: counts FILE [new]\n");
        return 2;
    }
    fd = open(argv[1], O_RDWR | (make ? O_CREAT | O_TRUNC : 0), 0600);
    if (fd < 0 || (make && ftruncate(fd, sizeof(*f)) < 0)) {
        perror(argv[1]);
        return 1;
    }
    f = mmap(NULL, sizeof(*f), PROT_READ, MAP_SHARED, fd, 0);
    if (f == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    for (int i = 0; i < COUNT_PROCS; i++)
        if (f->proc[i].pid != 0)
            print(&f->proc[i]);
    return 0;
}
