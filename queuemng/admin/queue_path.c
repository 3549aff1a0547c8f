/* queue_path.c: see the header. */
#include "queuemng/admin/queue_path.h"

#include <string.h>

#include "common/task/queue_name.h"

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
