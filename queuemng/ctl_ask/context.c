/* context.c: see the header. */
#include "queuemng/ctl_ask/context.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "queuemng/ctl_ask/ctl.h"

#define AT(f) offsetof(struct context, f)
const struct cfg_key context_keys[] = {
    { "name", CFG_NAME, AT(name), NULL, 0, 0, true, "its name", 0, 0, 0 },
    { "admin", CFG_STRS, AT(admin), "", 0, CTL_URLS_MAX, true,
      "queuemng's admin API: several are tried, the leader is found", 0, 0, 0 },
    { "router", CFG_STRS, AT(router), "", 0, CTL_URLS_MAX, true, "routers, for tickets", 0, 0, 0 },
    { "dir", CFG_STR, AT(dir), "", 0, PATH_MAX - 1, true,
      "a folder with cluster.json, in place of addresses", 0, 0, 0 },
    { "token_file", CFG_STR, AT(token_file), "", 0, PATH_MAX - 1, true, "holds the admin token", 0, 0, 0 },
    { "cacert", CFG_STR, AT(cacert), "", 0, PATH_MAX - 1, true,
      "authorities that sign certificates of https:// addresses", 0, 0, 0 },
    { "key_file", CFG_STR, AT(key_file), "", 0, PATH_MAX - 1, true,
      "the key that signs claims", 0, 0, 0 },
    { "operator", CFG_STR, AT(operator), "", 0, 64, true, "your name in the log of changes", 0, 0, 0 },
    { "confirm", CFG_BOOL, AT(confirm), "false", 0, 0, true,
      "orders that take places or tasks away want its name typed, too", 0, 0, 0 },
    { 0 },
};
#undef AT

#define AT(f) offsetof(struct contexts, f)
static const struct cfg_key file_keys[] = {
    { "current", CFG_STR, AT(current), "", 0, 64, true, "the one that is used", 0, 0, 0 },
    { "contexts", CFG_OBJS, AT(v), "", 0, CONTEXTS_MAX, true, "the clusters", 0, context_keys,
      sizeof(struct context) },
    { 0 },
};
#undef AT

static void find_file(char *to, size_t cap)
{
    const char *own = getenv("SEGQ_CONFIG"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = 0;

    *to = '\0';
    if (own != NULL && *own != '\0')
        n = snprintf(to, cap, "%s", own);
    else if (config != NULL && *config == '/')
        n = snprintf(to, cap, "%s/segq/contexts.yaml", config);
    else if (home != NULL && *home == '/')
        n = snprintf(to, cap, "%s/.config/segq/contexts.yaml", home);
    if (n < 0 || (size_t)n >= cap)
        *to = '\0';
}

int context_check(const struct context *x, struct err *e)
{
    if (x->dir[0] == '\0' && x->admin.n == 0 && x->router.n == 0)
        return err_set(e, SQ_EINVAL, "context %s: it needs admin (an address), or dir", x->name);
    if (x->dir[0] != '\0' && (x->admin.n > 0 || x->router.n > 0))
        return err_set(e, SQ_EINVAL, "context %s: dir and addresses exclude each other", x->name);
    if (strpbrk(x->operator, "\r\n") != NULL)
        return err_set(e, SQ_EINVAL, "context %s: operator: one line", x->name);
    return 0;
}

static int check(const struct contexts *c, struct err *e)
{
    const struct context *v = c->v.v;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->v.n; i++) {
        rc = context_check(&v[i], e);
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (strcmp(v[i].name, v[k].name) == 0)
                rc = err_set(e, SQ_EINVAL, "context %s is there twice", v[i].name);
    }
    if (rc == 0 && c->current[0] != '\0' && contexts_find(c, c->current) == NULL)
        rc = err_set(e, SQ_EINVAL, "current: there is no context '%s'", c->current);
    return rc < 0 ? err_wrap(e, "%s", c->file) : 0;
}

int contexts_load(struct contexts *c, struct err *e)
{
    struct cfg_node *doc = NULL;
    char file[PATH_MAX];
    bool there;
    int rc = 0;

    find_file(file, sizeof(file));
    there = file[0] != '\0' && access(file, F_OK) == 0;
    *c = (struct contexts){ 0 };
    if (there)
        rc = cfg_parse_file(&doc, file, e);
    else
        rc = cfg_parse_yaml(&doc, "{}", 2, file, e);
    if (rc == 0)
        rc = cfg_bind(c, sizeof(*c), file_keys, doc, file, e);
    cfg_node_free(doc);
    if (rc < 0)
        return rc;
    memcpy(c->file, file, sizeof(file));
    rc = check(c, e);
    if (rc < 0)
        contexts_free(c);
    return rc;
}

void contexts_free(struct contexts *c)
{
    cfg_clear(c, file_keys);
}

/* The folders above it that are not there. */
static void make_folders(const char *file)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s", file);
    for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(path, 0700); /* a failure is seen when the file is written */
        *p = '/';
    }
}

static int write_file(const char *name, const struct buf *b)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -1 : file_write_all(fd, b->data, b->len);

    if (fd >= 0 && (fsync(fd) < 0 || close(fd) < 0))
        rc = -1;
    return rc;
}

int contexts_save(const struct contexts *c, struct err *e)
{
    char draft[PATH_MAX + 8];
    struct buf b;
    int rc = 0;

    if (c->file[0] == '\0')
        return err_set(e, SQ_EINVAL, "there is no place for a file of contexts: set SEGQ_CONFIG or HOME");
    buf_init(&b);
    cfg_dump_yaml(&b, c, file_keys);
    make_folders(c->file);
    snprintf(draft, sizeof(draft), "%s.new", c->file);
    if (b.failed)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    else if (write_file(draft, &b) < 0 || rename(draft, c->file) < 0)
        rc = err_set(e, SQ_ESYS, "%s: %s", c->file, strerror(errno));
    buf_fini(&b);
    return rc;
}

struct context *contexts_find(const struct contexts *c, const char *name)
{
    struct context *v = c->v.v;

    for (size_t i = 0; i < c->v.n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

/* Texts are "", as the table makes them. */
static int fill(struct context *x, const char *name, struct err *e)
{
    char text[NAME_MAX_LEN + 20];
    struct cfg_node *doc = NULL;
    int rc;

    snprintf(text, sizeof(text), "{\"name\":\"%.*s\"}", NAME_MAX_LEN, name);
    rc = cfg_parse_json(&doc, text, strlen(text), e);
    if (rc == 0)
        rc = cfg_bind(x, sizeof(*x), context_keys, doc, NULL, e);
    cfg_node_free(doc);
    return rc;
}

int contexts_add(struct contexts *c, const char *name, struct context **x, struct err *e)
{
    struct context *v = realloc(c->v.v, (c->v.n + 1) * sizeof(*v));
    int rc;

    if (v == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    c->v.v = v;
    if (c->v.n == CONTEXTS_MAX)
        return err_set(e, SQ_EFULL, "%s has %d contexts already", c->file, CONTEXTS_MAX);
    v[c->v.n] = (struct context){ 0 };
    rc = fill(&v[c->v.n], name, e);
    if (rc == 0)
        *x = &v[c->v.n++];
    return rc;
}

void contexts_remove(struct contexts *c, struct context *x)
{
    struct context *end = (struct context *)c->v.v + c->v.n;

    cfg_clear(x, context_keys);
    memmove(x, x + 1, (size_t)((char *)end - (char *)(x + 1)));
    c->v.n--;
}
