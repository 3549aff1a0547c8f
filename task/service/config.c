/* config.c: the table of a task node's configuration. */
#include "task/service/config.h"

#include <string.h>

#include "common/task/call.h"
#include "common/task/queue_name.h"
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
    if (rc == 0)
        rc = check_headers(&c->pass_headers, e);
    if (rc == 0)
        rc = check_queues(&c->metrics_queues, e);
    return rc;
}
