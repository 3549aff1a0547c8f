/* cluster_status.c: what a supervisor publishes and what its successor reads. JSON. */
#include "common/supervisor/cluster_status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"

/* Changes with every boot: pids and start times of an earlier one mean nothing. */
static void boot_id(char *out, size_t cap)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, cap - 1) : 0;

    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\n")] = 0;
    if (fd >= 0)
        close(fd);
}

static json_t *entry_json(const struct cluster_entry *c)
{
    char hash[20];

    snprintf(hash, sizeof(hash), "%016" PRIx64, c->args_hash);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s}", "name", c->name,
                     "state", c->state, "pid", (json_int_t)c->pid, "start_ticks",
                     (json_int_t)c->start_ticks, "restarts", (json_int_t)c->restarts,
                     "since", (json_int_t)c->since_s, "listen", c->listen, "admin",
                     c->admin, "args", hash);
}

static json_t *status_json(const struct cluster_status *s)
{
    json_t *kids = json_array();
    char boot[64];

    boot_id(boot, sizeof(boot));
    for (size_t i = 0; i < s->n; i++)
        if (json_array_append_new(kids, entry_json(&s->v[i])) < 0) {
            json_decref(kids);
            return NULL;
        }
    return json_pack("{s:s, s:I, s:s, s:o}", "name", s->name, "pid", (json_int_t)s->pid,
                     "boot_id", boot, "children", kids);
}

int cluster_status_write(const char *path, const struct cluster_status *s, struct err *e)
{
    json_t *j = status_json(s);
    char *text = j != NULL ? json_dumps(j, JSON_INDENT(1)) : NULL;
    char tmp[4200];
    int fd = -1, rc = 0;

    json_decref(j);
    if (text == NULL)
        return err_set(e, SQ_ENOMEM, "status %s", path);
    snprintf(tmp, sizeof(tmp), "%s.new", path);
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || file_write_all(fd, text, strlen(text)) < 0 || file_write_all(fd, "\n", 1) < 0 ||
        rename(tmp, path) < 0)
        rc = err_set(e, SQ_ESYS, "write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(text);
    return rc;
}

static void copy_text(char *out, size_t cap, const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    snprintf(out, cap, "%s", s != NULL ? s : "");
}

static int64_t number(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

static void entry_from(struct cluster_entry *c, const json_t *j)
{
    char hash[20];

    copy_text(c->name, sizeof(c->name), j, "name");
    copy_text(c->state, sizeof(c->state), j, "state");
    copy_text(c->listen, sizeof(c->listen), j, "listen");
    copy_text(c->admin, sizeof(c->admin), j, "admin");
    copy_text(hash, sizeof(hash), j, "args");
    c->args_hash = strtoull(hash, NULL, 16);
    c->pid = number(j, "pid");
    c->start_ticks = (uint64_t)number(j, "start_ticks");
    c->restarts = (uint64_t)number(j, "restarts");
    c->since_s = number(j, "since");
}

static int status_from(struct cluster_status *s, const json_t *j)
{
    const json_t *kids = json_object_get(j, "children");
    size_t n = json_array_size(kids);
    char now[64], then[64];

    boot_id(now, sizeof(now));
    copy_text(then, sizeof(then), j, "boot_id");
    copy_text(s->name, sizeof(s->name), j, "name");
    if (strcmp(now, then) != 0 || n == 0)
        return 0;
    s->v = calloc(n, sizeof(*s->v));
    if (s->v == NULL)
        return SQ_ENOMEM;
    s->pid = number(j, "pid");
    for (s->n = 0; s->n < n; s->n++)
        entry_from(&s->v[s->n], json_array_get(kids, s->n));
    return 0;
}

int cluster_status_read(const char *path, struct cluster_status *s, struct err *e)
{
    json_error_t why;
    json_t *j;
    int rc;

    *s = (struct cluster_status) { .n = 0 };
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    j = json_load_file(path, 0, &why);
    if (j == NULL)
        return err_set(e, SQ_EINVAL, "%s: line %d: %s", path, why.line, why.text);
    rc = status_from(s, j);
    json_decref(j);
    return rc < 0 ? err_set(e, rc, "read %s", path) : 0;
}
