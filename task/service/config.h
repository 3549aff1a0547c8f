/* config.h: what a task node can be told: its configuration, and files that endpoints name. */
#ifndef SEGQ_TASK_CFG_H
#define SEGQ_TASK_CFG_H

#include <sys/stat.h>

#include "common/config/cfg_check.h"
#include "common/node/node.h"
#include "common/wire/msg_task_manager.h"
#include "task/calls/request.h"
#include "task/out/out.h"

#define PUBLIC_URL_MAX 400
#define METRICS_QUEUES_MAX 100

enum task_kept { STORE_JOURNAL, STORE_REDIS };

struct task_cfg {
    struct node_cfg node; /* first: node_cfg_check() */
    int store;            /* enum task_kept */
    struct cfg_redis redis;
    char *bodies_dir;
    char *answers_dir; /* "": in bodies_dir */
    char *archive_dir; /* "": none */
    char *public_url;  /* "": not known */
    struct cfg_list pass_headers; /* list of char * */
    int64_t max_tasks, max_keys, archive_keep_days, archive_buffer;
    int64_t answers_max_bytes, large_bodies_max_bytes, metrics_busiest;
    struct cfg_list metrics_queues; /* list of char * */
};

extern const struct cfg_key task_cfg_keys[];
/* Checks between keys. cfg: struct task_cfg. */
SQ_CHECK int task_cfg_check(const void *cfg, struct err *e);

/* The files that an endpoint names, of this node: keys that sign its calls; the
 * secret that its target wants; of TLS the authorities, a certificate, its key.
 *
 * They are read here and nowhere else, so that nothing waits for a file: regular files alone, of bounded
 * length. Files with keys are secrets: of mode 0600, or refused. A file that has changed is read again;
 * one that is none now (half written, say) changes nothing. */

enum tls_file { TLS_CA, TLS_CERT, TLS_KEY, TLS_NFILES };

struct tls_text {
    char *p; /* owned; NULL: the endpoint names no such file */
    size_t n;
    struct stat was; /* the file, when it was read */
};

struct endpoint_files {
    bool sign;
    struct sign_keys keys;
    struct stat keys_were; /* their file, when it was read */
    struct tls_text tls[TLS_NFILES];
    char bad[ENDPOINT_WHY_MAX + 1]; /* why newer keys were not taken; "" */
    char *auth; /* owned; "authorization: Bearer SECRET"; NULL: none */
    struct stat auth_was;
    char auth_bad[ENDPOINT_WHY_MAX + 1];
};

/* All that d names, into one that is zero. On an error nothing is left in it. */
SQ_CHECK int endpoint_files_read(struct endpoint_files *f, const struct msg_endpoint *d, struct err *e);
void endpoint_files_fini(struct endpoint_files *f); /* wipes them */

/* Reads the keys that sign, and the secret, again, if their file has changed, and logs it. */
void endpoint_files_keys(struct endpoint_files *f, const struct msg_endpoint *d, const char *name);
/* Has one of the files of TLS changed since it was read? */
bool endpoint_files_tls_changed(const struct endpoint_files *f, const struct msg_endpoint *d);
/* The texts of TLS, into the rules of a target that is freed before f. */
void endpoint_files_rules(const struct endpoint_files *f, struct out_rules *r);

#endif
