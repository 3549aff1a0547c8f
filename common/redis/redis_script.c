#include "common/redis/redis_script.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/net/tls.h"
#include "common/ticket/keys.h"

void redis_arg_u64(struct redis_command *c, uint64_t v)
{
    char *t = c->text[c->n_text++];

    assert(c->n_text <= ARRAY_LEN(c->text));
    snprintf(t, sizeof(c->text[0]), "%" PRIu64, v);
    redis_arg_str(&c->a, t);
}

void redis_eval(struct redis_command *c, const char *script, const char (*key)[REDIS_KEY_BYTES],
                unsigned n_keys)
{
    memset(c, 0, sizeof(*c));
    redis_arg_str(&c->a, "EVAL");
    redis_arg_str(&c->a, script);
    redis_arg_u64(c, n_keys);
    for (unsigned i = 0; i < n_keys; i++)
        redis_arg_str(&c->a, key[i]);
}

int redis_run(struct redis_link *l, struct redis_command *c, redis_fn fn, void *ctx)
{
    int rc = redis_send(l, &c->a, fn, ctx);

    redis_args_fini(&c->a);
    return rc;
}

bool redis_numbers(struct redis_link *l, const struct redis_ans *a, int64_t *v, size_t n)
{
    if (a->fault != REDIS_NONE) {
        redis_link_fault(l, a->fault, a->text);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!redis_ans_int(a, i, &v[i]) || v[i] < 0) {
            redis_link_fault(l, REDIS_TYPE, "an answer of another shape");
            return false;
        }
    return true;
}

int redis_wait(struct redis_link *l, uint32_t replicas, uint32_t answer_ms, redis_fn fn, void *ctx)
{
    struct redis_command c = { 0 };

    redis_arg_str(&c.a, "WAIT");
    redis_arg_u64(&c, replicas);
    redis_arg_u64(&c, answer_ms / 2);
    return redis_run(l, &c, fn, ctx);
}

bool redis_waited(struct redis_link *l, const struct redis_ans *a, uint32_t replicas)
{
    int64_t n;

    if (!redis_numbers(l, a, &n, 1))
        return false;
    if (n < (int64_t)replicas)
        redis_link_fault(l, REDIS_NOREPLICAS, "too few replicas have the write");
    return n >= (int64_t)replicas;
}

int redis_opts_of(struct redis_opts *o, const struct cfg_redis *c, char *password, size_t cap,
                  struct tls_ctx **tls, struct err *e)
{
    int rc = redis_tls_load(tls, c, e);

    *o = (struct redis_opts){ .addr = c->servers.v,
                              .n_addrs = c->servers.n,
                              .sentinel = c->sentinels.v,
                              .n_sentinels = c->sentinels.n,
                              .master = c->master_name,
                              .user = c->user,
                              .password = password,
                              .tls = tls,
                              .db = (int)c->db,
                              .connect_ms = (uint32_t)c->timeout_ms,
                              .answer_ms = (uint32_t)c->timeout_ms };
    randombytes_buf(&o->seed, sizeof(o->seed));
    password[0] = 0;
    return rc < 0 || c->password_file[0] == 0 ? rc
                                              : keys_password(password, cap, c->password_file, e);
}

int redis_tls_load(struct tls_ctx **tls, const struct cfg_redis *c, struct err *e)
{
    struct tls_ctx *fresh = NULL;
    struct err why = { 0 };
    int rc = c->tls ? tls_ctx_foreign(&fresh, &c->files, &why) : 0;

    if (rc < 0)
        return err_set(e, rc, "redis_%s", why.text);
    tls_ctx_free(*tls);
    *tls = fresh;
    return 0;
}

int redis_tls_try(const struct cfg_redis *c, struct err *e)
{
    struct tls_ctx *tls = NULL;
    int rc = redis_tls_load(&tls, c, e);

    tls_ctx_free(tls);
    return rc;
}

void redis_fault_metrics(struct buf *b, const uint64_t fault[REDIS_NFAULTS])
{
    metrics_head(b, "segq_redis_errors_total", METRIC_COUNTER, "Faults of Redis, by kind");
    for (unsigned i = REDIS_NONE + 1; i < REDIS_NFAULTS; i++) {
        const char *labels[] = { "kind", redis_fault_name((enum redis_fault)i), NULL };

        metrics_u64(b, "segq_redis_errors_total", labels, fault[i]);
    }
}
