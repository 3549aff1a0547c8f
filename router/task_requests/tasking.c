/* tasking.c: see tasking.h. */
#include "router/task_requests/tasking.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/supervisor/program.h"
#include "common/task/url.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/passing.h"
#include "router/task_requests/pieces.h"
#include "router/task_requests/request.h"
#include "router/task_requests/task_link.h"
#include "router/task_requests/watch.h"

#define LOG_MODULE "tasking"

#define HOOK_RANK  5 /* before httpd's: what fails here is answered in this turn */
#define TOKENS_MAX (256u << 10) /* bytes of the file */

static int read_tokens(struct server_tokens *to, const char *path, struct err *e)
{
    char *text = malloc(TOKENS_MAX + 1);
    int64_t n = text != NULL ? file_read(path, FILE_ANY, text, TOKENS_MAX, NULL, e)
                             : err_set(e, SQ_ENOMEM, "%s: out of memory", path);
    int rc = n < 0 ? (int)n : 0;

    if (rc == 0) {
        text[n] = '\0';
        rc = server_tokens_read(to, text, e);
        if (rc < 0)
            rc = err_wrap(e, "%s", path);
    }
    free(text);
    return rc < 0 ? err_wrap(e, "task_tokens") : 0;
}

int tasking_try(const struct router_cfg *cfg, struct err *e)
{
    struct server_tokens t = { 0 };
    int rc = cfg->task_tokens[0] != '\0' ? read_tokens(&t, cfg->task_tokens, e) : 0;

    server_tokens_free(&t);
    return rc == SQ_EGONE ? 0 : rc;
}

void tasking_reload(struct tasking *t)
{
    struct err e = { 0 };

    if (t == NULL)
        return;
    if (read_tokens(&t->tokens, t->r->cfg->task_tokens, &e) < 0)
        prog_refuse(&e);
    else
        task_rights_changed(t);
}

void tasking_map(struct tasking *t, const char *manager, const struct msg_task_map *m)
{
    uint64_t here = t != NULL ? t->pools.map.epoch : 0;
    bool first = t != NULL && !t->pools.known;
    int rc;

    if (t == NULL)
        return;
    rc = pools_apply(&t->pools, m);
    if (rc < 0) {
        log_warn("event=task_map_refused manager=%s epoch=%" PRIu64 " here=%" PRIu64 " why=\"%s\"",
                 manager, m->epoch, here, sq_strerror(rc));
        return;
    }
    t->counts.maps++;
    if (first)
        log_info("event=first_task_map epoch=%" PRIu64 " pools=%" PRIu32, m->epoch, m->n_pools);
    tasking_links_sync(t);
    asks_retry(t);
}

static void on_turn_end(void *arg)
{
    tasking_links_send(arg);
    tasking_farewell_look(arg);
}

static void on_tick(void *arg)
{
    struct tasking *t = arg;

    left_look(t);
    asks_tick(t);
    wholes_tick(t);
    watches_tick(t);
    ev_timer_about(t->timer, TASK_TICK_MS);
}

/* Other queues of calls may be called so, too, and a visitor chooses the name: their endpoints are elsewhere. */
static bool is_push_service(const struct router *r, const char *queue, const char *host)
{
    const struct task_way *w = pools_of_queue(&r->tasking->pools, queue, strlen(queue));
    const char *urls = w != NULL && strcmp(w->match, queue) == 0 ? w->url : "";
    bool is = false;
    struct url u;

    while (url_next(&u, &urls)) {
        if (strcasecmp(u.host, host) != 0)
            return false;
        is = true;
    }
    return is;
}

int tasking_new(struct tasking **out, struct router *r, struct err *e)
{
    struct tasking *t;
    int rc;

    *out = NULL;
    if (r->cfg->task_tokens == NULL || r->cfg->task_tokens[0] == '\0')
        return 0;
    t = calloc(1, sizeof(*t));
    if (t == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    t->r = r;
    randombytes_buf(t->tokens.key, sizeof(t->tokens.key));
    randombytes_buf(&t->next_rid, sizeof(t->next_rid)); /* a node tells takes of all routers apart */
    t->next_rid >>= 1;
    pools_init(&t->pools);
    tasking_links_init(t);
    list_init(&t->calls);
    list_init(&t->waiting);
    list_init(&t->passings);
    list_init(&t->eased);
    list_init(&t->uploads);
    list_init(&t->wholes);
    list_init(&t->taken);
    list_init(&t->watches);
    list_init(&t->feeds);
    rc = read_tokens(&t->tokens, r->cfg->task_tokens, e);
    if (rc == 0 && ((t->timer = ev_timer_new(r->ev, on_tick, t)) == NULL ||
                    ev_hook(r->ev, HOOK_RANK, on_turn_end, t) < 0))
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    if (rc < 0) {
        tasking_free(t);
        return rc;
    }
    ev_timer_about(t->timer, TASK_TICK_MS);
    r->is_push_service = is_push_service;
    *out = t;
    return 0;
}

void tasking_free(struct tasking *t)
{
    if (t == NULL)
        return;
    ev_unhook(t->r->ev, on_turn_end, t);
    passings_free(t);
    watches_free(t);
    node_links_free(&t->links);
    list_each (&t->calls, it)
        call_drop(container_of(it, struct task_call, in_all));
    uploads_free(t);
    wholes_free(t);
    if (t->timer != NULL)
        ev_timer_free(t->timer);
    server_tokens_free(&t->tokens);
    pools_fini(&t->pools);
    buf_fini(&t->form);
    buf_fini(&t->then);
    free(t);
}
