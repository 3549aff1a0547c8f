/* program.c: see program.h. */
#include "common/supervisor/program.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/supervisor/metrics_process.h"
#include "common/ticket/keys.h"
#include "version.h"

#define LOG_MODULE "program"

static void on_term(void *arg)
{
    ((struct program *)arg)->stop();
}

static const struct prog *running; /* ref; NULL: none */
static char refused[2 * sizeof(((struct err *)0)->text)];

const char *prog_refused(void)
{
    return refused;
}

static void refuse(const struct err *e)
{
    size_t n = strlen(refused);

    log_error("event=reload_refused why=%s", log_q(e->text, strlen(e->text)));
    if (strstr(refused, e->text) == NULL)
        snprintf(refused + n, sizeof(refused) - n, "%s%s", n > 0 ? "; " : "", e->text);
}

static void say_where(const struct prog *p, struct err *e)
{
    cfg_where(e, p->keys, p->file, p->sets, p->n_sets);
}

void prog_refuse(const struct err *e)
{
    struct err at = *e;

    if (running != NULL)
        say_where(running, &at);
    refuse(&at);
}

static void on_hup(void *arg)
{
    struct program *p = arg;
    struct err e = { 0 };

    log_reopen();
    if (prog_reload(&p->prog, p->cfg, &e) < 0) {
        refuse(&e);
        return;
    }
    refused[0] = '\0';
    log_set_level((enum log_level)*p->log_level);
    if (p->reload != NULL)
        p->reload();
    if (refused[0] == '\0') /* else that has been said, of the file that was not taken */
        log_info("event=reloaded");
}

static int start(struct program *p, struct ev *ev, struct giveback **memory, struct err *e)
{
    const char *log_file = *p->log_file;
    int rc = log_file[0] != '\0' ? log_open(log_file, e) : 0;

    if (rc == 0)
        rc = giveback_new(memory, ev, e);
    if (rc == 0)
        rc = ev_signal(ev, SIGTERM, on_term, p);
    if (rc == 0)
        rc = ev_signal(ev, SIGINT, on_term, p);
    if (rc == 0)
        rc = ev_signal(ev, SIGHUP, on_hup, p);
    return rc < 0 ? rc : p->start(ev, e);
}

static int run(struct program *p)
{
    struct giveback *memory = NULL;
    struct ev *ev = NULL;
    struct err e = { 0 };
    int rc;

    running = &p->prog;
    log_set_level((enum log_level)*p->log_level);
    rc = ev_new(&ev, &e);
    if (rc == 0)
        rc = start(p, ev, &memory, &e);
    if (rc < 0) {
        log_error("event=cannot_start why=%s", log_q(e.text, strlen(e.text)));
    } else {
        ev_run(ev);
        log_info("event=stopped");
    }
    p->end();
    giveback_free(memory);
    ev_free(ev);
    return rc < 0;
}

int program_main(struct program *p, int argc, char **argv)
{
    struct err e = { 0 };
    int rc;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file limit is an error to report, not our end */
    if (keys_init(&e) < 0) {
        fprintf(stderr, "%s: %s\n", p->prog.name, e.text);
        return 1;
    }
    if (p->check_journal != NULL && argc == 3 && strcmp(argv[1], "--check-journal") == 0)
        return p->check_journal(argv[2], stdout);
    rc = prog_start(&p->prog, argc, argv, p->cfg);
    if (rc < 0)
        rc = run(p);
    cfg_clear(p->cfg, p->prog.keys);
    free(p->prog.sets);
    return rc;
}

/* ---- options and configuration ---- */

#define READY_ENV "SEGQ_READY_FD"
#define SYNOPSIS  "[-c FILE] [--set KEY=VALUE]... [-t] [-h] [-V]"

static int say(const struct prog *p, const char *text)
{
    fprintf(stderr, "%s: %s\n", p->name, text);
    return 2;
}

static int usage(const struct prog *p, const char *about, const char *arg)
{
    fprintf(stderr, "%s: %s%s%s\nusage: %s " SYNOPSIS "\n", p->name, about,
            arg != NULL ? ": " : "", arg != NULL ? arg : "", p->name);
    return 2;
}

/* Prints b and frees it. */
static int print(const struct prog *p, struct buf *b)
{
    int rc = 0;

    if (b->failed)
        rc = say(p, "out of memory");
    else if (fwrite(b->data, 1, b->len, stdout) != b->len || fflush(stdout) != 0)
        rc = 1;
    buf_fini(b);
    return rc;
}

static const struct {
    const char *name, *takes, *help;
} options_told[] = {
    { "-c", "FILE", "configuration (YAML)" },
    { "--set", "KEY=VALUE", "one key, over the file; a.b=v for a key in a map" },
    { "-t", "", "check and print the effective configuration" },
    { "-h", "", "list the options and the keys" },
    { "-V", "", "the version" },
};

static int help(const struct prog *p)
{
    char words[40];
    struct buf b;

    buf_init(&b);
    buf_printf(&b, "%s: %s\n\nusage: %s " SYNOPSIS "\n", p->name, p->what, p->name);
    for (size_t i = 0; i < ARRAY_LEN(options_told); i++) {
        snprintf(words, sizeof(words), "%s %s", options_told[i].name, options_told[i].takes);
        buf_printf(&b, "  %-16s %s\n", words, options_told[i].help);
    }
    buf_str(&b, "\nkeys (HUP = may be changed by SIGHUP):\n");
    cfg_help(&b, p->keys, true);
    return print(p, &b);
}

static const char man_end[] =
    ".SH SIGNALS\n.TP\nTERM, INT\nEnds in good order.\n"
    ".TP\nHUP\nReads the configuration again and opens the log anew. A broken one changes nothing; of files "
    "that it names, those that are bad stay as they were. The log says why.\n"
    ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nCannot start.\n.TP\n2\nWrong usage or configuration.\n"
    ".SH SEE ALSO\n"
    "segqctl(1), segq-router(8), segq-segment(8), segq-task(8), segq-queuemng(8), segq-rt_cluster(8), "
    "segq-seg_cluster(8), segq-task_cluster(8), segq-mng_cluster(8)\n";

/* For `make install`: not in -h. */
static int man(const struct prog *p)
{
    struct buf b;

    buf_init(&b);
    buf_printf(&b, ".TH segq-%s 8 \"\" \"segq " SEGQ_VERSION "\" \"segq\"\n.SH NAME\nsegq-%s \\- ",
               p->name, p->name);
    man_text(&b, p->what);
    buf_printf(&b, "\n.SH SYNOPSIS\n.B %s\n", p->name);
    man_text(&b, SYNOPSIS);
    buf_str(&b, "\n.SH DESCRIPTION\nA program of segq, a waiting room for sudden crowds. It lies in "
                "\\fIlib/segq\\fR and stays in the foreground: a service, or its supervisor, starts "
                "it. Its log goes to standard error, or to the key \\fBlog_file\\fR.\n.SH OPTIONS\n");
    for (size_t i = 0; i < ARRAY_LEN(options_told); i++)
        man_entry(&b, options_told[i].name, options_told[i].takes, options_told[i].help);
    buf_str(&b, ".SH CONFIGURATION\nKeys of the file. HUP: may be changed by that signal.\n");
    man_keys(&b, p->keys);
    buf_str(&b, man_end);
    return print(p, &b);
}

static int dump(const struct prog *p, const void *cfg)
{
    struct buf b;

    buf_init(&b);
    cfg_dump_yaml(&b, cfg, p->keys);
    return print(p, &b);
}

static int version(const struct prog *p)
{
    printf("%s (segq) %s\n", p->name, SEGQ_VERSION);
    return fflush(stdout) == 0 ? 0 : 1;
}

/* -1: go on; else exit code. *test is set by -t. */
static int options(struct prog *p, int argc, char **argv, bool *test)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(a, "-h") == 0 || strcmp(a, "--help") == 0)
            return help(p);
        if (strcmp(a, "--man") == 0)
            return man(p);
        if (strcmp(a, "-V") == 0 || strcmp(a, "--version") == 0)
            return version(p);
        if (strcmp(a, "-t") == 0) {
            *test = true;
        } else if (strncmp(a, "--set=", 6) == 0) {
            p->sets[p->n_sets++] = a + 6;
        } else if (strcmp(a, "-c") != 0 && strcmp(a, "--set") != 0) {
            return usage(p, "unknown option", a);
        } else if (next == NULL) {
            return usage(p, "a value is missing after", a);
        } else {
            if (a[1] == 'c')
                p->file = next;
            else
                p->sets[p->n_sets++] = next;
            i++;
        }
    }
    return -1;
}

static int load(const struct prog *p, void *cfg, struct err *e)
{
    int rc = cfg_load(cfg, p->size, p->keys, p->file, p->sets, p->n_sets, e);

    if (rc != 0 || p->check == NULL)
        return rc;
    rc = p->check(cfg, e);
    if (rc < 0)
        say_where(p, e);
    return rc;
}

static int try_out(const struct prog *p, const void *cfg, struct err *e)
{
    int rc = p->try != NULL ? p->try(cfg, e) : 0;

    if (rc < 0)
        say_where(p, e);
    return rc;
}

/* The descriptor is for us alone, not for children of ours. */
static int ready_fd(void)
{
    const char *text = getenv(READY_ENV);
    char *end;
    long fd = text != NULL ? strtol(text, &end, 10) : -1;

    return text == NULL || *end != 0 || fd < 3 || fd > 1 << 20 ? -1 : (int)fd;
}

int prog_start(struct prog *p, int argc, char **argv, void *cfg)
{
    struct err e = { 0 };
    bool test = false;
    int rc, fd = ready_fd();

    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    p->file = NULL;
    p->n_sets = 0;
    p->sets = calloc((size_t)argc + 1, sizeof(*p->sets));
    if (p->sets == NULL)
        return say(p, "out of memory") - 1;
    rc = options(p, argc, argv, &test);
    if (rc >= 0)
        return rc;
    assert(p->n_sets <= (size_t)argc);
    if (load(p, cfg, &e) < 0 || (test && try_out(p, cfg, &e) < 0))
        return say(p, e.text);
    return test ? dump(p, cfg) : -1;
}

/* A pipe may be read at the start, when nothing else is to be done; later it would stop the process. */
static bool is_pipe(const char *file)
{
    struct stat st;

    return file != NULL && stat(file, &st) == 0 && S_ISFIFO(st.st_mode);
}

int prog_reload(const struct prog *p, void *cfg, struct err *e)
{
    char name[100];
    void *fresh;
    int rc;

    if (is_pipe(p->file))
        return err_set(e, SQ_EINVAL, "%s: a pipe cannot be read again; name a file", p->file);
    fresh = calloc(1, p->size);
    if (fresh == NULL)
        return err_set(e, SQ_ENOMEM, "reload");
    rc = load(p, fresh, e);
    if (rc == 0 && cfg_fixed_changed(cfg, fresh, p->keys, name, sizeof(name)))
        rc = err_set(e, SQ_EINVAL, "%s: %s cannot change without a restart",
                     p->file != NULL ? p->file : "configuration", name);
    if (rc == 0 && p->try_at_hup)
        rc = try_out(p, fresh, e);
    if (rc == 0)
        cfg_swap_changed(cfg, fresh, p->keys); /* fixed strings are in use: untouched */
    cfg_clear(fresh, p->keys);
    free(fresh);
    return rc;
}

void prog_ready(void)
{
    int fd = ready_fd();
    ssize_t k;

    if (fd < 0)
        return;
    unsetenv(READY_ENV);
    do
        k = write(fd, "ready\n", 6);
    while (k < 0 && errno == EINTR);
    if (k != 6)
        log_warn("event=ready_not_reported what=ready_fd fd=%d why=\"%s\"", fd, strerror(errno));
    close(fd);
}
