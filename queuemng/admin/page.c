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

static void send_blob(struct admin_call *c, const struct dash_blob *b)
{
    const char *begin = c->q->gzip ? b->gz : b->begin, *end = c->q->gzip ? b->gz_end : b->end;

    c->a->status = 200;
    c->a->content_type = type_of(b->name);
    c->a->gzip = c->q->gzip;
    buf_append(&c->a->body, begin, (size_t)(end - begin));
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
    send_blob(c, &dash_blobs[i]);
    return true;
}
