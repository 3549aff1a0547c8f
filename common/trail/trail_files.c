/* trail_files.c: appends lines to the file of their day. */
#define _GNU_SOURCE /* memrchr */
#include "common/trail/trail_files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/text.h"
#include "common/recur/recur.h"

/* ---- lines are written by hand: a crowd makes a hundred thousand a second, and the thread that makes
 * them has people to serve ---- */

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Bytes that stand for themselves: mostly all of them. */
static size_t plain_run(const unsigned char *s, size_t n)
{
    size_t i = 0;

    while (i < n && is_plain(s[i]))
        i++;
    return i;
}

void jline_quoted(struct jline *o, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *s = (const unsigned char *)text;

    *o->p++ = '"';
    for (size_t i = 0, len; i < n; i += len != 0 ? len : 1) {
        len = plain_run(s + i, n - i);
        if (len > 0) {
            jline_raw(o, text + i, len);
            continue;
        }
        len = utf8_len(text + i, n - i);
        if (len == 0) {
            jline_raw(o, "\\ufffd", 6);
        } else if (s[i] == '"' || s[i] == '\\') {
            *o->p++ = '\\';
            *o->p++ = (char)s[i];
        } else if (s[i] < 0x20 || s[i] == 0x7f) {
            jline_raw(o, "\\u00", 4);
            *o->p++ = hex[s[i] >> 4];
            *o->p++ = hex[s[i] & 15];
        } else {
            jline_raw(o, text + i, len);
        }
    }
    *o->p++ = '"';
}

/* ---- days ---- */

static char *put_day(char *p, int64_t days)
{
    int y, m, d;

    date_of_day(days, &y, &m, &d);
    p = text_padded(p, 4, (unsigned)(y < 0 ? 0 : y > 9999 ? 9999 : y));
    *p++ = '-';
    p = text_padded(p, 2, (unsigned)m);
    *p++ = '-';
    return text_padded(p, 2, (unsigned)d);
}

/* A clock before 1970 is nobody's: what it says is told as its beginning. */
void trail_day(int64_t wall_ms, char *out)
{
    *put_day(out, (wall_ms > 0 ? wall_ms : 0) / TRAIL_DAY_MS) = '\0';
}

int64_t trail_day_parse(const char *text, size_t len)
{
    char again[TRAIL_DAY_LEN];
    int64_t y, m, d, days;

    if (len != TRAIL_DAY_LEN || text[4] != '-' || text[7] != '-')
        return -1;
    y = decimal_read(text, 4, 9999);
    m = decimal_read(text + 5, 2, 12);
    d = decimal_read(text + 8, 2, 99);
    if (y < 1970 || m < 1 || d < 1)
        return -1;
    days = day_of_date(y, m, d);
    put_day(again, days);
    return memcmp(again, text, TRAIL_DAY_LEN) == 0 ? days : -1; /* 30 February is none */
}

/* Writes the moment, TRAIL_TIME_LEN bytes; their end. */
static char *trail_time(char *p, int64_t wall_ms)
{
    int64_t at = wall_ms > 0 ? wall_ms : 0, ms = at % TRAIL_DAY_MS;

    p = put_day(p, at / TRAIL_DAY_MS);
    *p++ = 'T';
    p = text_padded(p, 2, (unsigned)(ms / 3600000));
    *p++ = ':';
    p = text_padded(p, 2, (unsigned)(ms / 60000 % 60));
    *p++ = ':';
    p = text_padded(p, 2, (unsigned)(ms / 1000 % 60));
    *p++ = '.';
    p = text_padded(p, 3, (unsigned)(ms % 1000));
    *p++ = 'Z';
    return p;
}

void jline_moment(struct jline *o, const char *key, int64_t wall_ms)
{
    jline_name(o, key);
    *o->p++ = '"';
    o->p = trail_time(o->p, wall_ms);
    *o->p++ = '"';
}

/* ---- files ---- */

#define LOOK_BACK 65536u /* for the end of the last whole line: no line is longer */
#define SUFFIX    ".jsonl"

/* ---- the folder ------------------------------------------------------------------ */

int trail_files_init(struct trail_files *f, const char *name, const char *dir, const char *node,
                     struct err *e)
{
    char path[512];
    int rc;

    *f = (struct trail_files) { .name = name, .dir = -1, .fd = -1 };
    if (snprintf(path, sizeof(path), "%s/%s", dir, node) >= (int)sizeof(path))
        return err_set(e, SQ_ETOOBIG, "%s_dir: too long", name);
    rc = file_make_dir(dir, 0750, e);
    if (rc == 0)
        rc = file_make_dir(path, 0750, e);
    if (rc < 0)
        return rc;
    f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->dir < 0)
        return err_set(e, SQ_ESYS, "open %s: %s", path, strerror(errno));
    if (faccessat(f->dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
        return err_set(e, SQ_ESYS, "write to %s: %s", path, strerror(errno));
    return 0;
}

static void close_file(struct trail_files *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

void trail_files_fini(struct trail_files *f)
{
    close_file(f);
    if (f->dir >= 0)
        close(f->dir);
    f->dir = -1;
}

int64_t trail_file_day(const char *name, const char *file)
{
    size_t n = strlen(name);

    if (strlen(file) != n + 1 + TRAIL_DAY_LEN + strlen(SUFFIX) || memcmp(file, name, n) != 0 ||
        file[n] != '-' || strcmp(file + n + 1 + TRAIL_DAY_LEN, SUFFIX) != 0)
        return -1;
    return trail_day_parse(file + n + 1, TRAIL_DAY_LEN);
}

void trail_file_name(const char *name, int64_t day, char *out)
{
    char text[TRAIL_DAY_LEN + 1];

    trail_day(day * TRAIL_DAY_MS, text);
    snprintf(out, TRAIL_FILE_NAME_MAX + 1, "%s-%s" SUFFIX, name, text);
}

bool trail_files_days(int dir, const char *name, int64_t **v, uint32_t *n)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    uint32_t cap = 0;
    bool ok = d != NULL;

    *v = NULL;
    *n = 0;
    if (d == NULL && fd >= 0)
        close(fd);
    while (ok && (entry = readdir(d)) != NULL) {
        int64_t day = trail_file_day(name, entry->d_name);

        if (day < 0)
            continue;
        ok = GROW(*v, *n, cap, 32);
        if (ok)
            (*v)[(*n)++] = day;
    }
    if (d != NULL)
        closedir(d);
    return ok;
}

uint64_t trail_files_clean(struct trail_files *f, int64_t first)
{
    char name[TRAIL_FILE_NAME_MAX + 1];
    uint64_t removed = 0;
    int64_t *day;
    uint32_t n;

    (void)!trail_files_days(f->dir, f->name, &day, &n); /* files left out go tomorrow */
    for (uint32_t i = 0; i < n; i++) {
        trail_file_name(f->name, day[i], name);
        if (day[i] < first)
            removed += unlinkat(f->dir, name, 0) == 0;
    }
    free(day);
    return removed;
}

/* ---- a file ---------------------------------------------------------------------- */

/* Half a line at its end is nobody's. */
static int cut_half_line(struct trail_files *f)
{
    char back[LOOK_BACK];
    struct stat st;
    ssize_t n;
    size_t want;
    const char *end;
    off_t keep;

    if (fstat(f->fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return 0;
    want = st.st_size < (off_t)sizeof(back) ? (size_t)st.st_size : sizeof(back);
    n = pread(f->fd, back, want, st.st_size - (off_t)want);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    if (back[n - 1] == '\n')
        return 0;
    end = memrchr(back, '\n', (size_t)n);
    keep = end == NULL ? st.st_size - (off_t)n : st.st_size - (off_t)(back + n - 1 - end);
    if (ftruncate(f->fd, keep) < 0)
        return -errno;
    f->cut_bytes += (uint64_t)(st.st_size - keep);
    return 0;
}

/* Somebody may have moved it away, or removed it. */
static bool is_still_there(const struct trail_files *f, const char *name)
{
    struct stat ours, theirs;

    return fstat(f->fd, &ours) == 0 && fstatat(f->dir, name, &theirs, 0) == 0 &&
           ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static int open_file(struct trail_files *f, int64_t day)
{
    char name[TRAIL_FILE_NAME_MAX + 1];
    int rc;

    trail_file_name(f->name, day, name);
    if (f->fd >= 0 && f->day == day && is_still_there(f, name))
        return 0;
    close_file(f);
    f->day = day;
    f->fd = openat(f->dir, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (f->fd < 0)
        return -errno;
    rc = cut_half_line(f);
    if (rc < 0)
        close_file(f);
    return rc;
}

/* Bytes of whole lines among the first n. */
static size_t whole(const char *p, size_t n)
{
    const char *end = n > 0 ? memrchr(p, '\n', n) : NULL;

    return end == NULL ? 0 : (size_t)(end + 1 - p);
}

int trail_files_put(struct trail_files *f, int64_t day, const char *p, size_t n, size_t *done)
{
    size_t at = 0;
    int rc = open_file(f, day);

    assert(n > 0 && p[n - 1] == '\n'); /* whole lines of our own */

    while (rc == 0 && at < n) {
        ssize_t k = write(f->fd, p + at, n - at);

        if (k > 0)
            at += (size_t)k;
        else if (k == 0 || errno != EINTR)
            rc = k == 0 ? -EIO : -errno;
    }
    *done = whole(p, at);
    if (rc < 0 && f->fd >= 0) {
        (void)!cut_half_line(f); /* else when it is opened again */
        close_file(f);
    }
    return rc;
}
