/* past_files.c: see the header. */
#include "queuemng/ctl/past_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/file.h"
#include "common/trail/trail_files.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/policy/schedule.h"

#define CSV_BYTES (16u << 20)
#define PATH_BYTES 1200

int past_files_csv(struct night *n, const char *file)
{
    const char *name = n->crowd.arrivals_csv, *slash = strrchr(file, '/');
    char path[PATH_BYTES], *text;
    struct stat st;
    struct err e = { 0 };
    int64_t got;
    int rc;

    if (name == NULL || name[0] == '\0')
        return CTL_OK;
    if (n->crowd.arrivals.n > 0)
        return ctl_fail(CTL_USAGE, "%s: crowd.arrivals_csv: there is crowd.arrivals already; leave one of them out",
                        file);
    snprintf(path, sizeof(path), "%.*s%s", name[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - file), file, name);
    text = malloc(CSV_BYTES + 1);
    if (text == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    got = file_read(path, FILE_ANY, text, CSV_BYTES, &st, &e);
    rc = got < 0 ? (int)got : 0;
    if (rc == 0) {
        text[got] = '\0';
        if (memchr(text, '\0', (size_t)got) != NULL)
            rc = err_set(&e, SQ_EINVAL, "%s: it has bytes of 0, and is no text", path);
    }
    if (rc == 0) {
        rc = past_csv(&n->crowd.arrivals, text, path, &e);
    }
    free(text);
    return rc < 0 ? ctl_say_err(&e, CTL_USAGE) : CTL_OK;
}

/* ---- the audit trail ---- */

static int read_file(struct past *p, const char *path, const struct queue_def *d)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    bool bad;

    if (f == NULL)
        return ctl_fail(CTL_USAGE, "%s: %s", path, strerror(errno));
    while (getline(&line, &cap, f) > 0)
        past_line(p, line, d);
    bad = ferror(f) != 0;
    free(line);
    fclose(f);
    return bad ? ctl_fail(CTL_REFUSED, "%s: cannot be read whole", path) : CTL_OK;
}

/* deep: also the folders in it. *files: how many were read. */
static int read_dir(struct past *p, const char *dir, const struct queue_def *q, bool deep, unsigned *files)
{
    DIR *d = opendir(dir);
    char path[PATH_BYTES];
    int rc = CTL_OK;

    if (d == NULL)
        return ctl_fail(CTL_USAGE, "%s: %s", dir, strerror(errno));
    for (const struct dirent *x; rc == CTL_OK && (x = readdir(d)) != NULL;) {
        struct stat st;

        if (x->d_name[0] == '.' || snprintf(path, sizeof(path), "%s/%s", dir, x->d_name) >= (int)sizeof(path))
            continue;
        if (trail_file_day("audit", x->d_name) >= 0) {
            rc = read_file(p, path, q);
            ++*files;
        } else if (deep && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            rc = read_dir(p, path, q, false, files);
        }
    }
    closedir(d);
    return rc;
}

int past_files_audit(struct past *p, const char *dir, const struct night *n)
{
    const char *text = n->crowd.from;
    const struct queue_def *d = night_queue(n);
    unsigned files = 0;
    int64_t from = 0;
    int rc;

    if (d == NULL)
        return ctl_fail(CTL_USAGE, "crowd.queue: must name one of the %zu queues", n->queues.n);
    if (text != NULL && text[0] != '\0' && schedule_parse(text, &from) < 0)
        return ctl_fail(CTL_USAGE, "crowd.from: \"%s\" is no date and time with a zone, like 2027-01-31T20:00:00Z", text);
    rc = read_dir(p, dir, d, true, &files);
    if (rc != CTL_OK)
        return rc;
    if (files == 0)
        return ctl_fail(CTL_USAGE, "%s: no audit-*.jsonl in it, nor in the folders of it (audit_dir of the segment "
                        "nodes)", dir);
    rc = past_end(p, from, n->for_ms);
    if (rc < 0)
        return rc == SQ_ENOMEM ? ctl_fail(CTL_REFUSED, "out of memory")
                               : ctl_fail(CTL_USAGE, "%s: nobody joined queue %s in that time", dir, d->name);
    fprintf(stderr, "%u people of %s are played, in place of crowd.arrivals", p->n_people, dir);
    if (p->before + p->after + p->missing > 0)
        fprintf(stderr, "; left out: %llu who came before the night, %llu after it (for, crowd.from); %llu lines are "
                "missing in the trail, or cut", (unsigned long long)p->before, (unsigned long long)p->after,
                (unsigned long long)p->missing);
    fputc('\n', stderr);
    return CTL_OK;
}
