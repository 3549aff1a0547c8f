/* page.c: the dashboard's files, which are a part of the program. They are public: the figures
 * come from the API, with the operator's token. */
#include "queuemng/admin/page.h"

#include <string.h>

#include "queuemng/admin/dash_blob.h"

#define FOLDER "/dashboard/"
#define INDEX  "index.html"

static const char *type_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    if (strcmp(dot, ".js") == 0)
        return "text/javascript; charset=utf-8";
    if (strcmp(dot, ".css") == 0)
        return "text/css; charset=utf-8";
    return "text/html; charset=utf-8";
}

static const char *file_of(const char *path)
{
    if (strcmp(path, "/") == 0)
        return INDEX;
    if (strncmp(path, FOLDER, strlen(FOLDER)) != 0)
        return NULL;
    return path + strlen(FOLDER);
}

bool admin_page(struct admin_call *c)
{
    const char *name = file_of(c->q->path);
    size_t i = 0;

    while (name != NULL && i < dash_blobs_n && strcmp(dash_blobs[i].name, name) != 0)
        i++;
    if (name == NULL || i == dash_blobs_n)
        return false;
    if (strcmp(c->q->method, "GET") != 0) {
        admin_not_allowed(c->a, "GET, HEAD");
        return true;
    }
    c->a->status = 200;
    c->a->content_type = type_of(name);
    buf_append(&c->a->body, dash_blobs[i].begin,
               (size_t)(dash_blobs[i].end - dash_blobs[i].begin));
    return true;
}
