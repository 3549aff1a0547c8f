/* config.c: the table of a task node's configuration. */
#include "task/service/config.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/task/url.h"
#include "task/node/table.h"

#define K(name) .key = #name, .offset = offsetof(struct task_cfg, name)

static const char *const stores[] = { "journal", "redis", NULL };

const struct cfg_key task_cfg_keys[] = {
    NODE_KEYS("task", "7400", "7500", "routers"),
    { NODE_KEY(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "create secret_file if it is missing" },
    { K(max_tasks), .type = CFG_INT, .def = "10000000", .min = 1, .max = 4000000000,
      .help = "highest number of tasks held at the same time, in any state; about 110 "
              "bytes each, beside their bodies on the disk" },
    { K(max_keys), .type = CFG_INT, .def = "1000000", .min = 16, .max = 16000000,
      .help = "highest number of queues and keys of a partition at the same time" },
    { K(store), .type = CFG_ENUM, .def = "journal", .words = stores,
      .help = "where tasks are kept: journal: in this node's files; redis: in a Redis, from "
              "which other nodes go on when this one is lost" },
    CFG_REDIS_KEYS(struct task_cfg, "for store: redis", "",
                   "what it did is answered"),
    NODE_JOURNAL_KEYS("tasks"),
    { K(bodies_dir), .type = CFG_STR, .def = "bodies", .min = 1, .max = 400,
      .help = "folder of the tasks' bodies and results; each node uses the subfolder of its "
              "name" },
    { K(answers_max_bytes), .type = CFG_BYTES, .def = "1g", .min = 0, .max = 1ll << 50,
      .help = "bytes of answers of calls that are longer than max_result, and are kept whole in "
              "answers_dir (max_answer of endpoints); above it they are cut; 0: all are" },
    { K(answers_dir), .type = CFG_STR, .def = "", .max = 400,
      .help = "folder of these answers, in the subfolder of the node's name; \"\": that of its bodies, "
              "and with store: redis none is kept whole" },
    { K(large_bodies_max_bytes), .type = CFG_BYTES, .def = "4g", .min = 0, .max = 1ll << 50,
      .help = "bytes of bodies of calls above 256k (max_body of pools), each in a file of its own in the "
              "folder of the node's bodies; above it calls with such bodies are refused (503); 0: all are (413), as "
              "with store: redis" },
    { K(archive_dir), .type = CFG_STR, .def = "", .max = 400,
      .help = "folder of the archive of tasks that have ended, one file per day in the subfolder "
              "of the node's name; \"\": none" },
    { K(archive_keep_days), .type = CFG_INT, .def = "30", .min = 0, .max = 36500,
      .help = "days for which files of the archive are kept; 0: for ever" },
    { K(archive_buffer), .type = CFG_BYTES, .def = "16m", .min = 256 << 10, .max = 1ll << 34,
      .help = "memory for lines of the archive while the disk is slow; above it lines are dropped "
              "and counted" },
    { K(public_url), .type = CFG_STR, .def = "", .max = PUBLIC_URL_MAX,
      .help = "address of routers as targets of calls reach them, such as https://queue.example.com: "
              "it goes in front of segq-complete-url; \"\": that is a path" },
    { K(pass_headers), .type = CFG_STRS, .def = "", .min = 0, .max = 64,
      .help = "header fields of targets that callers get, beside those that all get (docs/calls.md): "
              "X-Shop-Version" },
    { K(metrics_busiest), .type = CFG_INT, .def = "10", .min = 0, .max = BUSIEST_MAX,
      .help = "queues of this node with metrics of their own (segq_task_queue_waiting ...): those with the "
              "most tasks that wait or are dead; 0: none" },
    { K(metrics_queues), .type = CFG_STRS, .def = "", .min = 0, .max = METRICS_QUEUES_MAX, .reload = true,
      .help = "names of queues that have such metrics always, also with no task: images" },
    NODE_LAST_KEYS,
};

static int check_url(const char *text, struct err *e)
{
    struct url u;
    const char *wrong = url_parse(&u, text);

    return wrong != NULL ? err_set(e, SQ_EINVAL, "public_url: %s", wrong) : 0;
}

static int check_headers(const struct cfg_list *l, struct err *e)
{
    char *const *v = l->v;

    for (size_t i = 0; i < l->n; i++)
        if (!reply_field_may_be_added(v[i], strlen(v[i])))
            return err_set(e, SQ_EINVAL, "pass_headers: %.80s cannot be passed on: name a header field that neither segq "
                           "nor a proxy writes or obeys (not Set-Cookie, Cache-Control, X-Segq-*, X-Accel-*, "
                           "Access-Control-*)", v[i]);
    return 0;
}

static int check_queues(const struct cfg_list *l, struct err *e)
{
    char *const *v = l->v;

    for (size_t i = 0; i < l->n; i++) {
        if (!queue_name_ok(v[i], strlen(v[i])))
            return err_set(e, SQ_EINVAL, "metrics_queues: %.80s is no name of a queue (small letters, digits, "
                           ". _ -, parts with / between them; no pattern)", v[i]);
        for (size_t j = 0; j < i; j++)
            if (strcmp(v[i], v[j]) == 0)
                return err_set(e, SQ_EINVAL, "metrics_queues: %s is there twice", v[i]);
    }
    return 0;
}

int task_cfg_check(const void *cfg, struct err *e)
{
    const struct task_cfg *c = cfg;
    int rc = node_cfg_check(cfg, e);

    if (rc == 0)
        rc = cfg_redis_check(&c->redis, e);
    if (rc == 0 && c->store == STORE_REDIS && !cfg_has_redis(&c->redis))
        rc = err_set(e, SQ_EINVAL, "store: redis: redis and redis_sentinels are missing");
    if (rc == 0 && c->store == STORE_JOURNAL && cfg_has_redis(&c->redis))
        rc = err_set(e, SQ_EINVAL, "redis: store is journal, which does not use it");
    if (rc == 0 && c->public_url[0] != 0)
        rc = check_url(c->public_url, e);
    return rc
        ?: check_headers(&c->pass_headers, e)
        ?: check_queues(&c->metrics_queues, e);
}

/* ---- endpoint files ----------------------------------------------------------------------- */

/* See the header. */

#define LOG_MODULE    "caller"
#define KEYS_FILE_MAX 4096
#define TLS_FILE_MAX  (512u << 10) /* a bundle of all public authorities is half of it */

static int read_keys(struct sign_keys *k, const char *path, struct stat *was, struct err *e)
{
    char text[KEYS_FILE_MAX];
    unsigned line = 0;
    int64_t n = file_read(path, FILE_SECRET, text, sizeof(text), was, e);
    const char *why = n >= 0 ? sign_keys_read(k, text, (size_t)n, &line) : NULL;

    sodium_memzero(text, sizeof(text));
    if (n < 0)
        return (int)n;
    return why != NULL ? err_set(e, SQ_EINVAL, "%s, line %u: %s", path, line, why) : 0;
}

/* A line, the key that the target wants to see, behind the name of its header and the scheme. */
static int read_auth(char **out, const struct msg_endpoint *d, struct stat *was, struct err *e)
{
    char text[KEYS_FILE_MAX + ENDPOINT_AUTH_MAX + 1];
    size_t begin = strlen(d->auth_field), name = strcspn(d->auth_field, ":"), at = begin;
    int64_t n = file_read(d->auth_file, FILE_SECRET, text + begin, KEYS_FILE_MAX, was, e);
    const char *why = NULL;

    memcpy(text, d->auth_field, begin);
    if (n >= 0) {
        at += (size_t)n;
        while (at > begin && strchr(" \t\r\n", text[at - 1]) != NULL)
            at--;
        text[at] = '\0';
        why = at == begin ? "is empty" : strlen(text) < at || begin < name + 2 ? "is no line of text"
              : call_header_wrong(text, name, text + name + 2, at - name - 2);
    }
    *out = n >= 0 && why == NULL ? strdup(text) : NULL;
    sodium_memzero(text, sizeof(text));
    if (why != NULL)
        return err_set(e, SQ_EINVAL, "%s: %s: one line is expected, the key alone", d->auth_file, why);
    if (n >= 0 && *out == NULL)
        return err_set(e, SQ_ENOMEM, "%s: out of memory", d->auth_file);
    return n < 0 ? (int)n : 0;
}

static void free_auth(char *auth)
{
    if (auth != NULL)
        sodium_memzero(auth, strlen(auth));
    free(auth);
}

static const char *path_of(const struct msg_endpoint *d, enum tls_file which)
{
    return which == TLS_CA ? d->ca_file : which == TLS_CERT ? d->cert_file : d->key_file;
}

static int read_tls(struct tls_text *t, const char *path, enum file_kind kind, struct err *e)
{
    char *text = malloc(TLS_FILE_MAX);
    int64_t n = text != NULL ? file_read(path, kind, text, TLS_FILE_MAX, &t->was, e)
                             : err_set(e, SQ_ENOMEM, "%s: out of memory", path);

    if (n == 0)
        n = err_set(e, SQ_EINVAL, "%s: is empty", path);
    t->p = n > 0 ? malloc((size_t)n) : NULL;
    if (n > 0 && t->p == NULL)
        n = err_set(e, SQ_ENOMEM, "%s: out of memory", path);
    if (n > 0) {
        memcpy(t->p, text, (size_t)n);
        t->n = (size_t)n;
        sodium_memzero(text, (size_t)n);
    }
    free(text);
    return n < 0 ? (int)n : 0;
}

int endpoint_files_read(struct endpoint_files *f, const struct msg_endpoint *d, struct err *e)
{
    int rc = 0;

    f->sign = d->secret_file[0] != 0;
    if (f->sign)
        rc = read_keys(&f->keys, d->secret_file, &f->keys_were, e);
    if (rc == 0 && d->auth_file[0] != 0)
        rc = read_auth(&f->auth, d, &f->auth_was, e);
    for (enum tls_file i = 0; rc == 0 && i < TLS_NFILES; i++)
        if (path_of(d, i)[0] != 0)
            rc = read_tls(&f->tls[i], path_of(d, i), i == TLS_KEY ? FILE_SECRET : FILE_ANY, e);
    if (rc < 0)
        endpoint_files_fini(f);
    return rc;
}

void endpoint_files_fini(struct endpoint_files *f)
{
    for (unsigned i = 0; i < TLS_NFILES; i++) {
        if (f->tls[i].p != NULL)
            sodium_memzero(f->tls[i].p, f->tls[i].n);
        free(f->tls[i].p);
    }
    free_auth(f->auth);
    sodium_memzero(f, sizeof(*f));
}

/* Logs it once for each reason. */
static void stays(char bad[ENDPOINT_WHY_MAX + 1], const struct err *e, const char *name)
{
    if (strcmp(bad, e->text) != 0)
        log_error("event=endpoint_keys_bad endpoint=%s why=%s do=\"mend the file; the keys of before count "
                  "until then\"", name, log_q(e->text, strlen(e->text)));
    copy_text(bad, ENDPOINT_WHY_MAX + 1, e->text);
}

static void auth_again(struct endpoint_files *f, const struct msg_endpoint *d, const char *name)
{
    struct stat now;
    struct err e = { 0 };
    char *auth;

    if (f->auth == NULL || file_is_same(d->auth_file, &f->auth_was))
        return;
    if (read_auth(&auth, d, &now, &e) < 0) {
        stays(f->auth_bad, &e, name);
        return;
    }
    free_auth(f->auth);
    f->auth = auth;
    f->auth_was = now;
    f->auth_bad[0] = '\0';
    log_info("event=endpoint_auth_changed endpoint=%s", name);
}

void endpoint_files_keys(struct endpoint_files *f, const struct msg_endpoint *d, const char *name)
{
    struct sign_keys keys;
    struct stat now;
    struct err e = { 0 };

    auth_again(f, d, name);
    if (!f->sign || file_is_same(d->secret_file, &f->keys_were))
        return;
    if (read_keys(&keys, d->secret_file, &now, &e) == 0) {
        f->keys = keys;
        f->keys_were = now;
        log_info("event=endpoint_keys_changed endpoint=%s keys=%u", name, keys.n);
        f->bad[0] = '\0';
    } else {
        stays(f->bad, &e, name);
    }
    sodium_memzero(&keys, sizeof(keys));
}

bool endpoint_files_tls_changed(const struct endpoint_files *f, const struct msg_endpoint *d)
{
    for (enum tls_file i = 0; i < TLS_NFILES; i++)
        if (f->tls[i].p != NULL && !file_is_same(path_of(d, i), &f->tls[i].was))
            return true;
    return false;
}

static struct call_span span_of(const struct tls_text *t)
{
    return (struct call_span){ t->p, t->n };
}

void endpoint_files_rules(const struct endpoint_files *f, struct out_rules *r)
{
    r->ca = span_of(&f->tls[TLS_CA]);
    r->cert = span_of(&f->tls[TLS_CERT]);
    r->key = span_of(&f->tls[TLS_KEY]);
}
