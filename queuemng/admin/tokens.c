/* tokens.c: see the header. */
#include "queuemng/admin/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"

#define LOG_MODULE "manager"
#define NO_PROXY   "admin_tokens_file has rows with user, email or group; admin_trusted_proxies is empty"

/* The token of admin_token_file is a row, too. */
static int root_row(struct access_file *f, const char *token, struct err *e)
{
    struct access_token *t = calloc(1, sizeof(*t));
    char hash[TOKEN_HASH_CAP];

    if (t == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    access_hash(token, strlen(token), hash);
    f->v.v = t;
    f->v.n = 1;
    t->role_no = ROLE_ADMIN - 1;
    t->name = strdup(TOKEN_ROOT);
    t->hash = strdup(hash);
    t->until = strdup("");
    if (t->name == NULL || t->hash == NULL || t->until == NULL ||
        cfg_strs_add(&t->queues, "*", 1) < 0 || cfg_strs_add(&t->pools, "*", 1) < 0)
        return err_set(e, SQ_ENOMEM, "out of memory");
    return 0;
}

/* The rows from before stay until the next reload: the call that asks for this one is by one of them. */
static int read_file(struct mng_service *s, struct err *e)
{
    struct access_file fresh = { 0 };
    const char *path = s->cfg->admin_tokens_file;

    if (path[0] != '\0' && access_read(&fresh, path, e) < 0)
        return err_wrap(e, "admin_tokens_file");
    access_clear(&s->tokens_before);
    s->tokens_before = s->tokens;
    s->tokens = fresh;
    if (access_has_people(&fresh) && s->cfg->admin_trusted_proxies.n == 0)
        log_warn("event=people_without_proxy why=%s", log_q(NO_PROXY, strlen(NO_PROXY)));
    return 0;
}

int mng_proxy_secret_read(struct mng_service *s, struct err *e)
{
    const char *path = s->cfg->admin_proxy_secret_file;

    if (path[0] == '\0')
        s->proxy_secret[0] = '\0';
    else if (keys_admin_token(s->proxy_secret, sizeof(s->proxy_secret), path, false, e) < 0)
        return err_wrap(e, "admin_proxy_secret_file");
    return 0;
}

int mng_tokens_start(struct mng_service *s, struct err *e)
{
    int rc = root_row(&s->root, s->admin_token, e);

    if (rc == 0)
        rc = mng_proxy_secret_read(s, e);
    return rc < 0 ? rc : read_file(s, e);
}

int mng_tokens_reload(struct mng_service *s, struct err *e)
{
    int rc = read_file(s, e);

    copy_text(s->tokens_wrong, sizeof(s->tokens_wrong), rc < 0 ? e->text : NULL);
    if (rc < 0)
        log_error("event=tokens_refused why=%s", log_q(e->text, strlen(e->text)));
    else if (s->cfg->admin_tokens_file[0] != '\0')
        log_info("event=tokens_read tokens=%zu", s->tokens.v.n);
    return rc;
}

void mng_tokens_end(struct mng_service *s)
{
    access_clear(&s->root);
    access_clear(&s->tokens);
    access_clear(&s->tokens_before);
}

/* ---- calls ---- */

void admin_tokens_reload(struct admin_call *c)
{
    struct err e = { 0 };

    if (c->s->cfg->admin_tokens_file[0] == '\0')
        admin_problem(c->a, 409, "conflict", "queuemng.yaml has no admin_tokens_file");
    else if (mng_tokens_reload(c->s, &e) < 0)
        admin_problem(c->a, 409, "conflict", "%s; the tokens from before stay", e.text);
    else
        admin_json(c->a, 200, json_pack("{s:s,s:I}", "node", c->s->cfg->node, "tokens",
                                        (json_int_t)c->s->tokens.v.n));
}

static json_t *texts_json(const struct cfg_list *l)
{
    json_t *j = json_array();

    for (size_t i = 0; i < l->n; i++)
        (void)json_array_append_new(j, json_string(((char **)l->v)[i]));
    return j;
}

void admin_whoami(struct admin_call *c)
{
    const char *by = c->who->by_proxy ? "proxy" : c->session != 0 ? "session" : "token";
    const struct bearer *w = c->who;
    json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:b,s:s}", "name", w->name, "by", by, "token", w->row,
                          "role", role_word(w->role), "queues", texts_json(w->queues), "pools",
                          texts_json(w->pools), "all", bearer_has_all(w), "node", c->s->cfg->node);

    if (w->by_proxy)
        (void)json_object_set_new(j, "sign_out", json_string(c->s->cfg->admin_sign_out_url));
    admin_json(c->a, 200, j);
}
