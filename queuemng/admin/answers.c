/* answers.c: statuses, bodies and parameters of the admin API. */
#include "queuemng/admin/answers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/rules.h"
#include "common/ticket/token.h"
#include "queuemng/process/manager.h"

void admin_json(struct admin_ans *a, int status, json_t *j)
{
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    char *text = j != NULL ? json_dumps(j, flags) : NULL;

    json_decref(j);
    if (text == NULL) {
        admin_problem(a, 503, "queue_unavailable", "out of memory");
        return;
    }
    a->status = status;
    a->content_type = "application/json";
    buf_str(&a->body, text);
    buf_byte(&a->body, '\n');
    free(text);
}

void admin_err(struct admin_ans *a, const struct err *e, const char *unknown)
{
    assert(e->code < 0);
    switch (e->code) {
    case SQ_EUNKNOWN:
        admin_problem(a, 404, unknown, "%s", e->text);
        break;
    case SQ_ECONFLICT:
        admin_problem(a, 409, "conflict", "%s", e->text);
        break;
    case SQ_EINVAL:
    case SQ_ETOOBIG:
        admin_problem(a, 400, "bad_request", "%s", e->text);
        break;
    default:
        admin_problem(a, 503, "queue_unavailable", "%s", e->text);
    }
}

void admin_not_allowed(struct admin_ans *a, const char *allow)
{
    admin_problem(a, 405, "method_not_allowed", "allowed: %s", allow);
    a->allow = allow;
}

void admin_kept(struct admin_call *c)
{
    uint64_t need;

    switch (mng_service_flush(c->s, &need)) {
    case MNG_STORED:
        break;
    case MNG_STORED_LATER:
        mng_defer(c->s, c->a, need);
        break;
    case MNG_NOT_STORED:
        c->a->etag = NULL;
        admin_problem(c->a, 503, "queue_unavailable",
                      "the store cannot be written: the change may be lost at a restart");
        break;
    }
}

void admin_changed(struct admin_call *c, json_t *j)
{
    admin_json(c->a, 200, j);
    admin_kept(c);
}

bool admin_is_true(const struct admin_call *c, const char *name)
{
    char word[8];

    return admin_query(c->q->query, name, word, sizeof(word)) && strcmp(word, "true") == 0;
}

uint64_t admin_number(struct admin_call *c, const char *name, uint64_t max, uint64_t absent)
{
    char text[24] = "", *end = text;
    uint64_t n = 0;

    if (!admin_query(c->q->query, name, text, sizeof(text)))
        n = absent;
    else if (text[0] >= '0' && text[0] <= '9')
        n = strtoull(text, &end, 10);
    if (n == 0 || *end != '\0' || n > max) {
        admin_problem(c->a, 400, "bad_request", "?%s= must be a number from 1 to %llu", name,
                      (unsigned long long)max);
        return 0;
    }
    return n;
}

json_t *admin_moment(int64_t ms)
{
    return ms > 0 ? json_real((double)ms / 1000) : json_null();
}

json_t *admin_load_json(const struct mng_service *s, enum rpc_role role, const char *name)
{
    const struct load_seen *x = loads_of(&s->loads, role, name, ev_now(s->ev));
    json_t *j;

    if (x == NULL)
        return json_null();
    j = json_pack("{s:f,s:I,s:f,s:s}", "cpu", (double)x->load.cpu_permille / 1000, "rss_bytes",
                  (json_int_t)(x->load.rss_bytes), "started_at", (double)x->load.started_ms / 1000, "version",
                  x->version);
    if (x->warning[0] != '\0')
        (void)json_object_set_new(j, "warning", json_string(x->warning));
    if (x->load.answers)
        (void)json_object_update_new(j, json_pack("{s:I,s:I}", "answers_per_s",
                                                  (json_int_t)(x->load.answers_per_s), "p99_us",
                                                  (json_int_t)(x->load.p99_us)));
    else
        (void)json_object_set_new(j, "late_us", json_integer((json_int_t)(x->load.late_us)));
    return j;
}

/* ---- names in paths: a token, or an id in its one spelling (no signs, no leading zeros) ---- */

/* Digits up to `end` into *v, at most `max`; NULL: it is no such number. */
static const char *number(const char *s, char end, uint64_t max, uint64_t *v)
{
    const char *p = s;

    for (*v = 0; *p >= '0' && *p <= '9'; p++) {
        uint64_t d = (uint64_t)(*p - '0');

        if (*v > (max - d) / 10)
            return NULL;
        *v = *v * 10 + d;
    }
    if (p == s || *p != end || (s[0] == '0' && p > s + 1))
        return NULL;
    return p;
}

static int read_id(const char *text, uint64_t of_max, uint64_t *of, uint64_t max, uint64_t *no)
{
    const char *p = number(text, '-', of_max, of);

    return p == NULL || *of == 0 || number(p + 1, '\0', max, no) == NULL ? SQ_EINVAL : 0;
}

int ticket_name_read(struct ticket_name *n, const struct token_key *k, const char *text)
{
    struct token t;
    uint64_t no;
    int rc;

    memset(n, 0, sizeof(*n));
    if (strlen(text) != TOKEN_TEXT_LEN) {
        rc = read_id(text, UINT64_MAX, &n->seg, UINT32_MAX, &no);
        n->number = rc == 0 ? (uint32_t)no : 0;
        return rc;
    }
    rc = token_read(&t, k, text, TOKEN_TEXT_LEN);
    if (rc < 0)
        return rc;
    *n = (struct ticket_name){ .seg = t.seg,
                               .number = t.number,
                               .has_token = true,
                               .client = t.client,
                               .issued_s = t.issued_s,
                               .has_subject = t.subject_hash != 0 };
    return 0;
}

int task_id_read(part_no *part, task_no *no, const char *text)
{
    uint64_t of;
    int rc = read_id(text, UINT32_MAX, &of, UINT64_MAX, no);

    *part = rc == 0 ? (part_no)of : 0;
    return rc;
}

int task_name_read(part_no *part, task_no *no, const struct token_key *k, const char *text)
{
    return strlen(text) == TASK_TOKEN_LEN ? task_token_read(part, no, k, text, TASK_TOKEN_LEN)
                                          : task_id_read(part, no, text);
}

/* ---- task queues, keys ------------------------------------------------------------ */

const char *queue_path_read(const char *path, char queue[TASK_NAME_MAX + 1])
{
    const char *end = strstr(path, "/tasks"), *rest;

    while (end != NULL && end[strlen("/tasks")] != '\0' && end[strlen("/tasks")] != '/')
        end = strstr(end + 1, "/tasks");
    if (end == NULL || !queue_name_ok(path, (size_t)(end - path)))
        return NULL;
    memcpy(queue, path, (size_t)(end - path));
    queue[end - path] = '\0';
    rest = end + strlen("/tasks");
    return rest[0] == '/' ? rest + 1 : rest;
}

bool schedule_path_read(struct schedule_path *k, const char *path)
{
    const char *rest = queue_path_read(path, k->queue), *name;
    size_t n;

    if (rest == NULL || strncmp(rest, "schedules/", strlen("schedules/")) != 0)
        return false;
    name = rest + strlen("schedules/");
    n = strcspn(name, "/");
    if (n == 0 || n > TASK_NAME_MAX)
        return false;
    memcpy(k->name, name, n);
    k->name[n] = '\0';
    k->order = name[n] == '/' ? name + n + 1 : "";
    return true;
}

bool key_path_read(struct key_path *k, const char *path, bool order)
{
    const char *rest = queue_path_read(path, k->queue), *end;
    size_t n;

    k->verb[0] = '\0';
    if (rest == NULL || strncmp(rest, "keys/", 5) != 0)
        return false;
    rest += 5;
    n = strlen(rest);
    end = order ? strrchr(rest, '/') : NULL;
    if (order && (end == NULL || strlen(end + 1) >= sizeof(k->verb)))
        return false;
    if (order) {
        n = (size_t)(end - rest);
        strcpy(k->verb, end + 1);
    }
    if (n == 0 || n > KEY_TEXT_MAX)
        return false;
    memcpy(k->key, rest, n);
    k->key[n] = '\0';
    return true;
}
