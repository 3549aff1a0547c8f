/* sign_in.c: see the header. */
#include "queuemng/admin/sign_in.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"

#define LOG_MODULE "manager"

/* ---- the file of tokens ---- */

#define NO_PROXY "admin_tokens_file has rows with user, email or group; admin_trusted_proxies is empty"

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

/* ---- sessions ---- */

#define MAC_BYTES  32
#define PRINT_LEN  16
#define TEXT_MAX   200 /* a session without its MAC */

struct session {
    char name[TOKEN_NAME_MAX + 1], print[PRINT_LEN + 1];
    uint64_t id; /* stays when the end moves */
    int64_t began_s, end_s;
};

static void mac_of(char out[2 * MAC_BYTES + 1], const uint8_t link[LINK_KEY_BYTES], const char *text,
                   size_t n)
{
    static const char label[] = "segq admin session 1";
    uint8_t key[32], mac[MAC_BYTES];

    crypto_generichash(key, sizeof(key), (const uint8_t *)label, strlen(label), link, LINK_KEY_BYTES);
    crypto_generichash(mac, sizeof(mac), (const uint8_t *)text, n, key, sizeof(key));
    sodium_bin2hex(out, 2 * MAC_BYTES + 1, mac, sizeof(mac));
    sodium_memzero(key, sizeof(key));
}

static bool is_ours(const struct cluster_keys *k, const char *text, size_t n, const char *mac)
{
    char want[2 * MAC_BYTES + 1];
    bool good;

    mac_of(want, k->link, text, n);
    good = sodium_memcmp(want, mac, 2 * MAC_BYTES) == 0;
    if (!good && k->has_other_link) {
        mac_of(want, k->other_link, text, n);
        good = sodium_memcmp(want, mac, 2 * MAC_BYTES) == 0;
    }
    return good;
}

static bool read_session(struct session *x, const struct cluster_keys *k, const char *p, size_t n)
{
    char text[TEXT_MAX + 1];
    size_t len = n > 2 * MAC_BYTES + 1 ? n - 2 * MAC_BYTES - 1 : 0;
    int end = 0;

    if (len == 0 || len > TEXT_MAX || p[len] != '.' || !is_ours(k, p, len, p + len + 1))
        return false;
    memcpy(text, p, len);
    text[len] = '\0';
    return sscanf(text, "%64[a-z0-9_-].%16[0-9a-f].%" SCNx64 ".%" SCNd64 ".%" SCNd64 "%n", x->name,
                  x->print, &x->id, &x->began_s, &x->end_s, &end) == 5 &&
           (size_t)end == len;
}

static const char *print_of(const struct access_token *t)
{
    return t->hash + strlen(TOKEN_HASH);
}

static bool is_signed_out(const struct mng_service *s, uint64_t id)
{
    for (size_t i = 0; i < ARRAY_LEN(s->signed_out); i++)
        if (s->signed_out[i] == id)
            return true;
    return false;
}

static uint64_t new_id(void)
{
    uint64_t id;

    randombytes_buf(&id, sizeof(id));
    return id != 0 ? id : 1;
}

const struct access_token *sign_in_token(struct admin_call *c)
{
    const struct mng_service *s = c->s;
    int64_t now_s = ev_wall_ms(s->ev) / 1000;
    const struct access_token *t;
    struct session x;

    if (!read_session(&x, &s->keys, c->q->session, c->q->session_len) || x.end_s <= now_s ||
        is_signed_out(s, x.id))
        return NULL;
    t = access_named(&s->root, x.name);
    if (t == NULL)
        t = access_named(&s->tokens, x.name);
    if (t == NULL || t->hash[0] == '\0' || strncmp(print_of(t), x.print, PRINT_LEN) != 0)
        return NULL;
    c->began_s = x.began_s;
    c->session = x.id;
    return t;
}

/* ---- calls ---- */

static void put_cookie(struct admin_call *c, const char *value, int64_t age_s)
{
    snprintf(c->a->set_cookie, sizeof(c->a->set_cookie),
             ADMIN_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict%s%s", value,
             age_s == 0 ? "; Max-Age=0" : "", c->q->https ? "; Secure" : "");
}

void admin_sign_in(struct admin_call *c)
{
    struct mng_service *s = c->s;
    int64_t now_s = ev_wall_ms(s->ev) / 1000, began_s = c->began_s != 0 ? c->began_s : now_s;
    int64_t idle_s = now_s + s->cfg->session_idle_ms / 1000, most_s = began_s + SIGN_IN_MOST_S;
    int64_t end_s = idle_s < most_s ? idle_s : most_s;
    char text[TEXT_MAX + 2 * MAC_BYTES + 2];
    uint64_t left_out;
    int n;

    if (c->who->by_proxy) { /* the session is the proxy's */
        admin_whoami(c);
        return;
    }
    n = snprintf(text, TEXT_MAX, "%s.%.*s.%" PRIx64 ".%" PRId64 ".%" PRId64, c->who->name, PRINT_LEN,
                 c->who->print, c->session != 0 ? c->session : new_id(), began_s, end_s);
    text[n++] = '.';
    mac_of(text + n, s->keys.link, text, (size_t)n - 1);
    put_cookie(c, text, end_s - now_s);
    if (c->session == 0 && log_may(&s->session_log, ev_now(s->ev), ADMIN_LINES, &left_out))
        log_info("event=session_begun token=%s role=%s from=%s left_out=%" PRIu64, c->who->name,
                 role_word(c->who->role), c->q->from != NULL ? c->q->from : "", left_out);
    admin_whoami(c);
}

void admin_sign_out(struct admin_call *c)
{
    struct mng_service *s = c->s;

    if (c->who->by_proxy)
        (void)sign_in_token(c); /* a cookie from before ends all the same */
    if (c->session != 0)
        s->signed_out[s->n_signed_out++ % ARRAY_LEN(s->signed_out)] = c->session;
    put_cookie(c, "", 0);
    admin_json(c->a, 200, json_pack("{s:b}", "signed_out", !c->who->by_proxy));
}
