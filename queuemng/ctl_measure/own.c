/* own.c: see the header. */
#define _GNU_SOURCE
#include "queuemng/ctl_measure/own.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/base.h"
#include "common/base/file.h"

static const char *const names[] = { "queuemng", "segment", "router" };

/* ---- ports ---- */

/* All are held until the last is known: no two are the same. */
static int take_ports(struct own *o, struct err *e)
{
    int fd[ARRAY_LEN(o->port)], rc = 0;
    size_t n = 0;

    for (; rc == 0 && n < ARRAY_LEN(o->port); n++) {
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(at);

        fd[n] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd[n] < 0 || bind(fd[n], (struct sockaddr *)&at, len) < 0 ||
            getsockname(fd[n], (struct sockaddr *)&at, &len) < 0)
            rc = err_set(e, SQ_ESYS, "no free port: %s", strerror(errno));
        o->port[n] = ntohs(at.sin_port);
    }
    while (n > 0)
        if (fd[--n] >= 0)
            close(fd[n]);
    return rc;
}

/* ---- files ---- */

static int write_config(const struct own *o, enum own_proc which, struct err *e)
{
    static const char *const own_keys[] = {
        "create_keys: true\ndata_dir: '%1$s/manager'\nadmin_token_file: '%1$s/admin.token'\nqueues:\n"
        "  - {name: line, release_per_s: 0, fallback_per_s: 0, direct_entry: false}\n"
        "  - {name: door, release_per_s: 1000000, max_rise_per_s: 0, direct_entry: false}\n",
        "create_keys: true\npass_key_file: '%1$s/pass.key'\njournal_dir: '%1$s/journal'\nnode: measured\n",
        "create_keys: true\njoin_limit_per_s: 0\npoll_limit_per_s: 0\nbad_limit_per_s: 0\nconns_per_addr: 0\n",
    };
    char text[8 * OWN_DIR_MAX], more[4 * OWN_DIR_MAX], path[OWN_DIR_MAX + 40], managers[60] = "";
    int n;

    if (which != OWN_MANAGER)
        snprintf(managers, sizeof(managers), "managers: ['127.0.0.1:%u']\n", o->port[2 * OWN_MANAGER]);
    snprintf(more, sizeof(more), own_keys[which], o->dir);
    n = snprintf(text, sizeof(text), "secret_file: '%s/secret'\nlisten: 127.0.0.1:%u\nadmin: 127.0.0.1:%u\n%s%s",
                 o->dir, o->port[2 * which], o->port[2 * which + 1], managers, more);
    snprintf(path, sizeof(path), "%s/%s.yaml", o->dir, names[which]);
    return file_replace(path, text, (size_t)n, e);
}

/* ---- processes ---- */

/* Beside this program, or where `make install` puts it. */
static int find_program(enum own_proc which, char path[PATH_MAX], struct err *e)
{
    char self[PATH_MAX - 40];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    self[n > 0 ? n : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash == NULL)
        return err_set(e, SQ_ESYS, "/proc/self/exe: %s", strerror(errno));
    *slash = '\0';
    snprintf(path, PATH_MAX, "%s/%s", self, names[which]);
    if (access(path, X_OK) == 0)
        return 0;
    snprintf(path, PATH_MAX, "%s/../lib/segq/%s", self, names[which]);
    if (access(path, X_OK) == 0)
        return 0;
    return err_set(e, SQ_EGONE, "%s is neither in %s nor in %s/../lib/segq", names[which], self, self);
}

static void become(const char *program, const char *config, int log, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    dup2(log, 1);
    dup2(log, 2);
    execl(program, program, "-c", config, (char *)NULL);
    _exit(127);
}

static int start(struct own *o, enum own_proc which, struct err *e)
{
    char program[PATH_MAX], config[OWN_DIR_MAX + 40], log[OWN_DIR_MAX + 40];
    pid_t parent = getpid();
    int rc = find_program(which, program, e), fd;

    if (rc == 0)
        rc = write_config(o, which, e);
    if (rc < 0)
        return rc;
    snprintf(config, sizeof(config), "%s/%s.yaml", o->dir, names[which]);
    snprintf(log, sizeof(log), "%s/%s.log", o->dir, names[which]);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(e, SQ_ESYS, "%s: %s", log, strerror(errno));
    o->pid[which] = fork();
    if (o->pid[which] == 0)
        become(program, config, fd, parent);
    close(fd);
    if (o->pid[which] > 0)
        return 0;
    o->pid[which] = 0;
    return err_set(e, SQ_ESYS, "fork: %s", strerror(errno));
}

int own_up(struct own *o, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    int rc;

    *o = (struct own){ .dir = "" };
    if (tmp == NULL || tmp[0] != '/')
        tmp = "/tmp";
    if (strlen(tmp) > OWN_DIR_MAX - 30)
        return err_set(e, SQ_ETOOBIG, "TMPDIR: at most %d characters", OWN_DIR_MAX - 30);
    snprintf(o->dir, sizeof(o->dir), "%s/segq-measure.XXXXXX", tmp);
    if (mkdtemp(o->dir) == NULL) {
        rc = err_set(e, SQ_ESYS, "%s: %s", o->dir, strerror(errno));
        o->dir[0] = '\0';
        return rc;
    }
    rc = take_ports(o, e);
    for (int i = 0; rc == 0 && i < OWN_PROCS; i++)
        rc = start(o, (enum own_proc)i, e);
    return rc;
}

static void last_line(const char *dir, const char *name, char *out, size_t cap)
{
    char path[OWN_DIR_MAX + 40], line[300];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s.log", dir, name);
    f = fopen(path, "re");
    out[0] = '\0';
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        snprintf(out, cap, "%.*s", (int)strcspn(line, "\n"), line);
    if (f != NULL)
        fclose(f);
}

int own_runs(const struct own *o, struct err *e)
{
    char said[300];
    siginfo_t how;

    for (int i = 0; i < OWN_PROCS; i++) {
        how = (siginfo_t){ .si_pid = 0 };
        if (waitid(P_PID, (id_t)o->pid[i], &how, WEXITED | WNOHANG | WNOWAIT) == 0 && how.si_pid == 0)
            continue;
        last_line(o->dir, names[i], said, sizeof(said));
        return err_set(e, SQ_EGONE, "%s has ended: %s", names[i], said);
    }
    return 0;
}

double own_cpu_s(const struct own *o, enum own_proc which)
{
    struct timespec t = { 0 };
    clockid_t clock;

    if (clock_getcpuclockid(o->pid[which], &clock) != 0 || clock_gettime(clock, &t) < 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void own_down(struct own *o)
{
    for (int i = 0; i < OWN_PROCS; i++) /* nothing of it shall last */
        if (o->pid[i] > 0) {
            kill(o->pid[i], SIGKILL);
            (void)waitpid(o->pid[i], NULL, 0);
        }
    if (o->dir[0] != '\0')
        (void)nftw(o->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
