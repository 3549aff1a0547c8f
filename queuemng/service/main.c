/* main.c: queuemng: keeps the chains, releases, answers operators. */
#include "common/base/log.h"
#include "common/net/tls.h"
#include "common/net/tls_server.h"
#include "common/redis/redis_script.h"
#include "common/supervisor/program.h"
#include "queuemng/service/service.h"

#define LOG_MODULE    "queuemng"
#define LAST_WORDS_MS 100 /* for giving the lease back */

static struct mng_cfg cfg;
static struct ev *loop;
static struct ev_timer *last_words;
static struct mng_service *service;

static void on_end(void *arg)
{
    ev_stop(arg);
}

static int start(struct ev *ev, struct err *e)
{
    int rc;

    loop = ev;
    last_words = ev_timer_new(ev, on_end, ev);
    if (last_words == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    rc = mng_service_new(&service, ev, &cfg, e);
    if (rc == 0)
        prog_ready();
    return rc;
}

static void stop(void)
{
    log_info("event=stopping");
    if (mng_service_stop(service))
        ev_timer_at(last_words, ev_now(loop) + LAST_WORDS_MS);
    else
        ev_stop(loop);
}

static int try(const void *c, struct err *e)
{
    const struct mng_cfg *m = c;
    struct access_file f = { 0 };
    char secret[256];
    int rc = tls_check_files(&m->tls, e)
          ?: tls_server_check(NULL, &m->admin_tls, cfg_has_cert(&m->admin_tls), e)
          ?: redis_tls_try(&m->redis, e);

    if (rc == 0 && m->admin_proxy_secret_file[0] != '\0') {
        rc = keys_admin_token(secret, sizeof(secret), m->admin_proxy_secret_file, false, e);
        rc = rc < 0 ? err_wrap(e, "admin_proxy_secret_file") : 0;
    }
    if (rc == 0 && m->admin_tokens_file[0] != '\0')
        rc = access_read(&f, m->admin_tokens_file, e);
    access_clear(&f);
    keys_wipe(secret, sizeof(secret));
    return rc;
}

static void reload(void)
{
    mng_service_reload(service);
}

static void end(void)
{
    mng_service_free(service);
    ev_timer_free(last_words);
}

int main(int argc, char **argv)
{
    static struct program p = {
        .prog = { .name = "queuemng",
                  .what = "keeps the chains, releases, answers operators",
                  .keys = mng_keys,
                  .size = sizeof(struct mng_cfg),
                  .check = mng_cfg_check,
                  .try = try },
        .cfg = &cfg,
        .log_level = &cfg.log_level,
        .log_file = &cfg.log_file,
        .start = start,
        .stop = stop,
        .reload = reload,
        .end = end,
    };

    return program_main(&p, argc, argv);
}
