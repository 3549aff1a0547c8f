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

#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/text.h"

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

json_t *ctl_definition(const struct ctl *c, const struct def_kind *kind, const char *queue,
                       const char *name, int *rc)
{
    struct ctl_call call = { .method = "GET", .path = kind->one, .queue = queue, .name = name };
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK && a.status == 200)
        doc = ctl_json(&a);
    if (*rc == CTL_OK && a.status != 404 && doc == NULL) {
        (void)ctl_say_answer(c, &a, NULL);
        *rc = CTL_REFUSED; /* also an answer that is no JSON */
    }
    buf_fini(&a.body);
    return doc;
}

/* now: as def_plan() has it. A second definition of the same name is an error. */
static int plan_add(struct plan *p, const struct def_kind *kind, const json_t *now,
                    const struct cfg_node *def, const char *file)
{
    struct def_change *v = realloc(p->v, (p->n + 1) * sizeof(*v));
    struct err e = { 0 };

    if (v == NULL)
        return ctl_say_err(&(struct err){ .text = "out of memory" }, CTL_REFUSED);
    p->v = v;
    if (def_plan(&v[p->n], kind, now, def, file, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    v += p->n++;
    p->changes += v->was == NULL || json_object_size(v->keys) > 0;
    for (const struct def_change *o = p->v; o < v; o++)
        if (o->kind == kind && strcmp(o->name, v->name) == 0) {
            (void)err_set(&e, SQ_EINVAL, "%s:%d: %s '%.80s' is there twice", file, def->line,
                          kind->word, v->name);
            return ctl_say_err(&e, CTL_USAGE);
        }
    return CTL_OK;
}

static int plan_item(struct plan *p, struct ctl *c, const struct def_kind *kind,
                     const struct cfg_node *def, const char *file)
{
    const struct cfg_node *name = cfg_node_get(def, kind->name);
    json_t *now = NULL;
    int rc = CTL_OK;

    if (name != NULL && name->kind == CFG_NODE_SCALAR)
        now = ctl_definition(c, kind, NULL, name->text, &rc);
    if (rc == CTL_OK)
        rc = plan_add(p, kind, now, def, file);
    json_decref(now);
    return rc;
}

static int plan_list(struct plan *p, struct ctl *c, const struct def_kind *kind,
                     const struct cfg_node *list, const char *file)
{
    struct err e = { 0 };
    int rc = CTL_OK;

    if (list->kind != CFG_NODE_LIST) {
        (void)err_set(&e, SQ_EINVAL, "%s:%d: %s is a list", file, list->line, kind->words);
        return ctl_say_err(&e, CTL_USAGE);
    }
    for (size_t i = 0; rc == CTL_OK && i < list->n_kids; i++)
        rc = plan_item(p, c, kind, list->kid[i], file);
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
            strcmp(def_kind_of(doc->kid[i]->key)->words, doc->kid[i]->key) != 0) {
            (void)err_set(&e, SQ_EINVAL, "%s:%d: '%.60s' is not budgets, endpoints, pools or queues", file,
                          doc->kid[i]->line, doc->kid[i]->key != NULL ? doc->kid[i]->key : "");
            rc = ctl_say_err(&e, CTL_USAGE);
        }
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

/* A new queue has nobody in it yet. */
static int change_is_sure(const struct ctl *c, const struct def_change *ch)
{
    bool is_queue = ch->was != NULL && strcmp(ch->kind->word, "queue") == 0;
    enum risk risk = is_queue ? risk_of_keys(ch->keys) : RISK_NONE;

    return risk == RISK_NONE ? CTL_OK : ctl_is_sure(c, risk, ch->name);
}

/* Before the first change: with a "no" in their midst a half of them would be made. */
static int plan_is_sure(const struct ctl *c, const struct plan *p)
{
    int rc = CTL_OK;

    for (size_t i = 0; rc == CTL_OK && i < p->n; i++)
        rc = change_is_sure(c, &p->v[i]);
    return rc;
}

static int change_send(struct ctl *c, const struct def_change *ch)
{
    struct ctl_call call = { .method = ch->was != NULL ? "PATCH" : "PUT", .path = ch->kind->one,
                             .name = ch->name, .body = ch->keys };
    struct ctl_answer a = { 0 };
    char tag[40];
    struct buf b;
    int rc;

    snprintf(tag, sizeof(tag), "\"%" JSON_INTEGER_FORMAT "\"", ch->version);
    if (ch->was == NULL)
        call.if_none_match = "*";
    else if (ch->version != 0)
        call.if_match = tag;
    rc = ctl_ask(c, call, &a);
    if (rc == CTL_OK && a.status >= 300)
        rc = ctl_say_answer(c, &a, NULL);
    buf_fini(&a.body);
    buf_init(&b);
    def_change_text(&b, ch);
    if (rc == CTL_OK)
        ctl_put_out(&b);
    buf_fini(&b);
    return rc;
}

static int plan_carry_out(struct ctl *c, const struct plan *p)
{
    size_t done = 0;
    int rc = plan_is_sure(c, p);

    for (size_t i = 0; rc == CTL_OK && i < p->n; i++)
        if (p->v[i].was == NULL || json_object_size(p->v[i].keys) > 0) {
            rc = change_send(c, &p->v[i]);
            done += rc == CTL_OK;
        }
    if (rc != CTL_OK)
        fprintf(stderr, "segqctl: %zu of %zu were changed\n", done, p->changes);
    else if (done == 0)
        puts("nothing to change");
    return rc;
}

/* Plans the file in its argument, or in -f. */
static int plan_named(struct plan *p, struct ctl *c, int argc, char **argv, const char *command)
{
    const char *file = argc > 0 ? argv[0] : c->file;

    if ((argc > 0) == (c->file != NULL)) {
        fprintf(stderr, "usage: segqctl %s FILE, or -f FILE\n", command);
        return CTL_USAGE;
    }
    return plan_file(p, c, strcmp(file, "-") == 0 ? "/dev/stdin" : file);
}

int cmd_diff(struct ctl *c, int argc, char **argv)
{
    struct plan p = { 0 };
    int rc = plan_named(&p, c, argc, argv, "diff");

    if (rc == CTL_OK) {
        plan_show(&p);
        rc = p.changes > 0 ? CTL_REFUSED : CTL_OK;
    }
    plan_fini(&p);
    return rc;
}

int cmd_apply(struct ctl *c, int argc, char **argv)
{
    struct plan p = { 0 };
    int rc = plan_named(&p, c, argc, argv, "apply");

    if (rc == CTL_OK && c->dry_run)
        plan_show(&p);
    else if (rc == CTL_OK)
        rc = plan_carry_out(c, &p);
    plan_fini(&p);
    return rc;
}

static struct cfg_node *as_node(const struct def_kind *kind, const char *name, const json_t *keys,
                                struct err *e)
{
    json_t *doc = json_deep_copy(keys);
    char *text = json_object_set_new(doc, kind->name, json_string(name)) == 0
                     ? json_dumps(doc, 0) : NULL;
    struct cfg_node *node = NULL;

    if (text == NULL)
        (void)err_set(e, SQ_ENOMEM, "out of memory, or '%.60s' is not UTF-8", name);
    else if (cfg_parse_json(&node, text, strlen(text), e) < 0)
        node = NULL;
    free(text);
    json_decref(doc);
    return node;
}

int ctl_would_change(const struct def_kind *kind, const char *name, const json_t *now, const json_t *keys)
{
    struct plan p = { 0 };
    struct err e = { 0 };
    struct cfg_node *def = as_node(kind, name, keys, &e);
    int rc = def != NULL ? plan_add(&p, kind, now, def, kind->word) : ctl_say_err(&e, CTL_USAGE);

    if (rc == CTL_OK) {
        plan_show(&p);
        rc = p.changes > 0 ? CTL_REFUSED : CTL_OK;
    }
    plan_fini(&p);
    cfg_node_free(def);
    return rc;
}

int cmd_would_change(struct ctl *c, const char *kind_word, const char *name, const json_t *keys,
                     bool is_new)
{
    const struct def_kind *kind = def_kind_of(kind_word);
    int rc;
    json_t *now = ctl_definition(c, kind, NULL, name, &rc);

    if (rc == CTL_OK && is_new == (now != NULL)) {
        fprintf(stderr, "segqctl: there is %s %s '%.60s'\n", is_new ? "already a" : "no", kind->word, name);
        rc = CTL_REFUSED;
    } else if (rc == CTL_OK) {
        rc = ctl_would_change(kind, name, now, keys);
    }
    json_decref(now);
    return rc;
}

static int changed_show(const struct def_kind *kind, const char *name, const json_t *was,
                        const json_t *now, const json_t *given)
{
    struct def_change ch;
    struct err e = { 0 };
    struct buf b;

    if (def_changed(&ch, kind, name, was, now, given, &e) < 0)
        return ctl_say_err(&e, CTL_REFUSED);
    buf_init(&b);
    def_change_text(&b, &ch);
    if (b.len == 0) {
        buf_printf(&b, "%s ", kind->word);
        ctl_clean(&b, name);
        buf_str(&b, ": nothing has changed: it is so already\n");
    }
    ctl_put_out(&b);
    buf_fini(&b);
    def_change_fini(&ch);
    return CTL_OK;
}

int ctl_change(const struct ctl *c, const struct def_kind *kind, const json_t *was, struct ctl_call call)
{
    struct ctl_answer a = { 0 };
    json_t *now = NULL;
    int rc;

    if (c->form != FORM_TABLE)
        return ctl_do(c, call, view_pretty);
    rc = ctl_ask(c, call, &a);
    if (rc == CTL_OK && a.status < 300)
        now = ctl_json(&a);
    if (now != NULL)
        rc = changed_show(kind, call.name, was, now, call.body);
    else if (rc == CTL_OK)
        rc = ctl_say_answer(c, &a, view_pretty);
    json_decref(now);
    buf_fini(&a.body);
    return rc;
}

int cmd_change(struct ctl *c, const char *kind_word, struct ctl_call call)
{
    const struct def_kind *kind = def_kind_of(kind_word);
    int rc = CTL_OK;
    json_t *was = c->form == FORM_TABLE ? ctl_definition(c, kind, NULL, call.name, &rc) : NULL;

    if (rc == CTL_OK)
        rc = ctl_change(c, kind, was, call);
    json_decref(was);
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
        json_t *def = rc == CTL_OK && name != NULL ? ctl_definition(c, kind, NULL, name, &rc) : NULL;

        if (def != NULL && def_yaml(b, kind, def, true, &e) < 0)
            rc = ctl_say_err(&e, CTL_REFUSED);
        json_decref(def);
    }
    json_decref(doc);
    return rc;
}

int cmd_export(struct ctl *c, int argc, char **argv)
{
    struct buf b;
    int rc = CTL_OK;

    (void)argc;
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
    fprintf(stderr, "segqctl: %s: %s\n", what, strerror(errno));
    return CTL_REFUSED;
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
    fputs("segqctl: the editor failed; nothing was changed\n", stderr);
    return CTL_REFUSED;
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
    if (rc == CTL_OK && (now == NULL || now->kind != CFG_NODE_SCALAR || strcmp(now->text, name) != 0)) {
        (void)err_set(&e, SQ_EINVAL, "%s: the %s of a %s stays as it is ('%.80s')", file, kind->name,
                      kind->word, name);
        rc = ctl_say_err(&e, CTL_USAGE);
    }
    if (rc == CTL_OK)
        rc = plan_add(&p, kind, was, doc, file);
    if (rc == CTL_OK && c->dry_run)
        plan_show(&p);
    else if (rc == CTL_OK)
        rc = plan_carry_out(c, &p);
    plan_fini(&p);
    cfg_node_free(doc);
    return rc;
}

int cmd_edit(struct ctl *c, int argc, char **argv)
{
    const struct def_kind *kind = def_kind_of(argv[0]);
    char file[512];
    struct err e = { 0 };
    struct buf text;
    json_t *now;
    int rc;

    (void)argc;
    if (kind == NULL) {
        fprintf(stderr, "segqctl: '%.60s' is not budget, endpoint, pool or queue\n", argv[0]);
        return CTL_USAGE;
    }
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
            fprintf(stderr, "segqctl: your text is kept in %s\n", file);
    }
    json_decref(now);
    return rc;
}
