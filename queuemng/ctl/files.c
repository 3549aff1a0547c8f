/* files.c: see the header. All of a file is read, asked for and checked before anything of it is
 * changed; then each definition is written only if nobody has changed it since it was asked for. */
#include "queuemng/ctl/files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/definitions.h"
#include "queuemng/ctl_ask/def_change.h"

struct plan {
    struct def_change *v; /* owned */
    size_t n, changes;    /* changes: of these, how many change something */
};

static void plan_fini(struct plan *p)
{
    while (p->n > 0)
        def_change_fini(&p->v[--p->n]);
    free(p->v);
    *p = (struct plan){ 0 };
}

/* now: as def_plan() has it. A second definition of the same name is an error. */
static int plan_add(struct plan *p, const struct def_kind *kind, const json_t *now,
                    const struct cfg_node *def, const char *file)
{
    struct def_change *v = realloc(p->v, (p->n + 1) * sizeof(*v));
    struct err e = { 0 };

    if (v == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    p->v = v;
    if (def_plan(&v[p->n], kind, now, def, file, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    v += p->n++;
    p->changes += v->was == NULL || json_object_size(v->keys) > 0;
    for (const struct def_change *o = p->v; o < v; o++)
        if (o->kind == kind && strcmp(o->name, v->name) == 0)
            return ctl_fail(CTL_USAGE, "%s:%d: %s '%.80s' is there twice", file, def->line,
                            kind->word, v->name);
    return CTL_OK;
}

static int plan_list(struct plan *p, struct ctl *c, const struct def_kind *kind,
                     const struct cfg_node *list, const char *file)
{
    int rc = CTL_OK;

    if (list->kind != CFG_NODE_LIST)
        return ctl_fail(CTL_USAGE, "%s:%d: %s is a list", file, list->line, kind->words);
    for (size_t i = 0; rc == CTL_OK && i < list->n_kids; i++) {
        const struct cfg_node *name = cfg_node_get(list->kid[i], kind->name);
        json_t *now = NULL;

        if (name != NULL && name->kind == CFG_NODE_SCALAR)
            now = definition_get(c, kind, NULL, name->text, &rc);
        if (rc == CTL_OK)
            rc = plan_add(p, kind, now, list->kid[i], file);
        json_decref(now);
    }
    return rc;
}

/* Plans a file's kinds, in our order. */
static int plan_file(struct plan *p, struct ctl *c, const char *file)
{
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    int rc = CTL_OK;

    if (cfg_parse_file(&doc, file, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    for (size_t i = 0; rc == CTL_OK && i < doc->n_kids; i++)
        if (doc->kid[i]->key == NULL || def_kind_of(doc->kid[i]->key) == NULL ||
            strcmp(def_kind_of(doc->kid[i]->key)->words, doc->kid[i]->key) != 0)
            rc = ctl_fail(CTL_USAGE, "%s:%d: '%.60s' is not budgets, endpoints, pools, queues or routes",
                          file,
                          doc->kid[i]->line, doc->kid[i]->key != NULL ? doc->kid[i]->key : "");
    for (const struct def_kind *k = def_kinds; rc == CTL_OK && k->word != NULL; k++) {
        const struct cfg_node *list = cfg_node_get(doc, k->words);

        if (list != NULL)
            rc = plan_list(p, c, k, list, file);
    }
    cfg_node_free(doc);
    return rc;
}

static void plan_show(const struct plan *p)
{
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < p->n; i++)
        def_change_text(&b, &p->v[i]);
    if (p->changes == 0)
        buf_str(&b, "nothing would change\n");
    ctl_put_out(&b);
    buf_fini(&b);
}

/* Before the first change: with a "no" in their midst a half of them would be made. A new queue
 * has nobody in it yet. */
static int plan_is_sure(const struct ctl *c, const struct plan *p)
{
    int rc = CTL_OK;

    for (const struct def_change *ch = p->v; rc == CTL_OK && ch < p->v + p->n; ch++)
        if (ch->was != NULL && ch->kind == &def_kinds[DEF_QUEUE] &&
            risk_of_keys(ch->keys) != RISK_NONE)
            rc = ctl_queue_is_sure(c, risk_of_keys(ch->keys), 0, ch->name);
    return rc;
}

/* False also: an endpoint that the file has just made has got a pool of its name. */
static bool must_be_new(const struct plan *p, const struct def_change *ch)
{
    for (const struct def_change *o = p->v; o < ch && ch->kind == &def_kinds[DEF_POOL]; o++)
        if (o->kind == &def_kinds[DEF_ENDPOINT] && o->was == NULL && strcmp(o->name, ch->name) == 0)
            return false;
    return ch->was == NULL;
}

static int change_send(struct ctl *c, const struct plan *p, const struct def_change *ch)
{
    struct ctl_call call = { .method = ch->was != NULL ? "PATCH" : "PUT", .path = ch->kind->one,
                             .name = ch->name,
                             .body = ch->keys, .is_new = must_be_new(p, ch), .version = ch->version };
    struct ctl_answer a = { 0 };
    struct buf b;
    json_t *now;
    int rc = ctl_ask(c, call, &a);

    if (rc == CTL_OK && a.status >= 300)
        rc = ctl_say_answer(c, &a, NULL);
    now = rc == CTL_OK ? ctl_json(&a) : NULL;
    buf_fini(&a.body);
    buf_init(&b);
    def_change_text(&b, ch);
    if (rc == CTL_OK)
        ctl_put_out(&b);
    definition_warns(now);
    json_decref(now);
    buf_fini(&b);
    return rc;
}

/* With --dry-run it only shows it. */
static int plan_carry_out(struct ctl *c, const struct plan *p)
{
    size_t done = 0;
    int rc;

    if (c->dry_run) {
        plan_show(p);
        return CTL_OK;
    }
    rc = plan_is_sure(c, p);
    for (size_t i = 0; rc == CTL_OK && i < p->n; i++)
        if (p->v[i].was == NULL || json_object_size(p->v[i].keys) > 0) {
            rc = change_send(c, p, &p->v[i]);
            done += rc == CTL_OK;
        }
    if (rc != CTL_OK)
        (void)ctl_fail(rc, "%zu of %zu were changed", done, p->changes);
    else if (done == 0)
        puts("nothing to change");
    return rc;
}

/* Plans the file in its argument, or in -f. */
static int plan_named(struct plan *p, struct ctl *c, char **argv)
{
    const char *file = argv[0] != NULL ? argv[0] : c->file;

    if ((argv[0] != NULL) == (c->file != NULL))
        return ctl_usage(c->cmd->words, "FILE, or -f FILE");
    return plan_file(p, c, strcmp(file, "-") == 0 ? "/dev/stdin" : file);
}

int cmd_diff(struct ctl *c, char **argv)
{
    struct plan p = { 0 };
    int rc = plan_named(&p, c, argv);

    if (rc == CTL_OK) {
        plan_show(&p);
        rc = p.changes > 0 ? CTL_REFUSED : CTL_OK;
    }
    plan_fini(&p);
    return rc;
}

int cmd_apply(struct ctl *c, char **argv)
{
    struct plan p = { 0 };
    int rc = plan_named(&p, c, argv);

    if (rc == CTL_OK)
        rc = plan_carry_out(c, &p);
    plan_fini(&p);
    return rc;
}

/* ---- export ---- */

static int export_kind(struct ctl *c, const struct def_kind *kind, struct buf *b)
{
    int rc;
    json_t *doc = ctl_get(c, kind->all, NULL, &rc), *list = json_object_get(doc, kind->words), *x;
    struct err e = { 0 };
    size_t i;

    if (rc == CTL_OK && json_array_size(list) > 0)
        buf_printf(b, "%s:\n", kind->words);
    json_array_foreach(list, i, x) {
        const char *name = json_string_value(json_object_get(x, kind->name));
        json_t *def = NULL;

        if (rc == CTL_OK && name != NULL)
            def = definition_get(c, kind, NULL, name, &rc);
        if (def != NULL && def_yaml(b, kind, def, true, &e) < 0)
            rc = ctl_say_err(&e, CTL_REFUSED);
        json_decref(def);
    }
    json_decref(doc);
    return rc;
}

int cmd_export(struct ctl *c, char **argv)
{
    struct buf b;
    int rc = CTL_OK;

    (void)argv;
    buf_init(&b);
    for (const struct def_kind *k = def_kinds; rc == CTL_OK && k->word != NULL; k++)
        rc = export_kind(c, k, &b);
    if (rc == CTL_OK)
        ctl_put_out(&b);
    buf_fini(&b);
    return rc;
}

/* ---- edit ---- */

static int say_errno(const char *what)
{
    return ctl_fail(CTL_REFUSED, "%s: %s", what, strerror(errno));
}

/* A file that only we may read, with this text; its name goes into `file`. */
static int draft(char *file, size_t cap, const struct buf *text)
{
    const char *dir = getenv("TMPDIR");
    ssize_t n;
    int fd;

    snprintf(file, cap, "%s/segqctl-XXXXXX", dir != NULL && *dir == '/' ? dir : "/tmp");
    fd = mkstemp(file);
    if (fd < 0)
        return say_errno(file);
    n = write(fd, text->data, text->len);
    if (close(fd) < 0 || n != (ssize_t)text->len)
        return say_errno(file);
    return CTL_OK;
}

static int editor_run(const char *file)
{
    static const char run[] = "exec ${VISUAL:-${EDITOR:-vi}} \"$1\"";
    int status = 0;
    pid_t pid = fork();
    void (*was)(int) = pid > 0 ? signal(SIGINT, SIG_IGN) : SIG_DFL; /* Ctrl-C is the editor's */

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", run, "sh", file, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    signal(SIGINT, was);
    if (pid < 0)
        return say_errno("fork");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CTL_OK;
    return ctl_fail(CTL_REFUSED, "the editor failed; nothing was changed");
}

/* was: what the editor was given: a change by somebody else since then is a conflict. */
static int edited(struct ctl *c, const struct def_kind *kind, const json_t *was, const char *file)
{
    const char *name = json_string_value(json_object_get(was, kind->name));
    struct cfg_node *doc = NULL;
    const struct cfg_node *now;
    struct plan p = { 0 };
    struct err e = { 0 };
    int rc = cfg_parse_file(&doc, file, &e) < 0 ? ctl_say_err(&e, CTL_USAGE) : CTL_OK;

    now = rc == CTL_OK ? cfg_node_get(doc, kind->name) : NULL;
    if (rc == CTL_OK && (now == NULL || now->kind != CFG_NODE_SCALAR ||
                         strcmp(now->text, name) != 0))
        rc = ctl_fail(CTL_USAGE, "%s: the %s of a %s stays as it is ('%.80s')", file, kind->name,
                      kind->word, name);
    if (rc == CTL_OK)
        rc = plan_add(&p, kind, was, doc, file);
    if (rc == CTL_OK)
        rc = plan_carry_out(c, &p);
    plan_fini(&p);
    cfg_node_free(doc);
    return rc;
}

int cmd_edit(struct ctl *c, char **argv)
{
    const struct def_kind *kind = def_kind_of(argv[0]);
    char file[512];
    struct err e = { 0 };
    struct buf text;
    json_t *now;
    int rc;

    if (kind == NULL)
        return ctl_fail(CTL_USAGE, "'%.60s' is not budget, endpoint, pool, queue or route", argv[0]);
    now = ctl_get(c, kind->one, argv[1], &rc);
    if (now == NULL)
        return rc;
    buf_init(&text);
    rc = def_yaml(&text, kind, now, false, &e) < 0 ? ctl_say_err(&e, CTL_REFUSED)
                                                   : draft(file, sizeof(file), &text);
    buf_fini(&text);
    if (rc == CTL_OK) {
        rc = editor_run(file);
        if (rc != CTL_OK || (rc = edited(c, kind, now, file)) == CTL_OK)
            unlink(file);
        else
            (void)ctl_fail(rc, "your text is kept in %s", file);
    }
    json_decref(now);
    return rc;
}
