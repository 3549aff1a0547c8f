/* path_names.c: a token, or an id in its one spelling (no signs, no leading zeros); queues and keys. */
#include "queuemng/admin/path_names.h"

#include <string.h>

#include "common/task/queue_name.h"
#include "common/ticket/task_token.h"

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
