/* answer.c: an answer, printed as its view, its bytes (-o json), or YAML. A refusal is a sentence; with
 * -o json or yaml it is the problem as the API gave it, with its code, on standard error. */
#include "queuemng/ctl_ask/answer.h"

#include <stdio.h>
#include <unistd.h>

#include "queuemng/ctl_ask/meant.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/ctl_view/yaml.h"

static void put_refusal(const struct ctl *c, struct buf *b, const struct ctl_answer *a,
                        const json_t *doc)
{
    buf_str(b, "segqctl: ");
    view_problem(b, a->status, doc);
    if (a->name != NULL)
        ctl_put_meant(c, b, ctl_str(doc, "code"), a->name);
}

/* Unchanged; at a terminal the same JSON, without characters that would steer it. */
static void put_as_it_came(struct buf *b, const struct ctl_answer *a, int fd)
{
    struct buf text;

    if (isatty(fd) != 1) {
        buf_append(b, a->body.data, a->body.len);
        return;
    }
    buf_init(&text);
    buf_append(&text, a->body.data, a->body.len);
    buf_byte(&text, 0);
    if (!text.failed)
        ctl_clean_json(b, (const char *)text.data, text.len - 1);
    buf_fini(&text);
}

int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view)
{
    json_t *doc =
        json_loadb((const char *)a->body.data, a->body.len, JSON_DECODE_ANY, NULL);
    bool good = a->status >= 200 && a->status < 300, empty = a->body.len == 0; /* 204 */
    struct buf b;

    buf_init(&b);
    if (c->form == FORM_YAML && doc != NULL)
        b.failed |= !yaml_put(&b, doc);
    else if (good && (doc != NULL || empty) && view != NULL && c->form == FORM_TABLE)
        view(&b, doc);
    else if (good && empty)
        buf_str(&b, "ok");
    else if (good || (c->form == FORM_JSON && doc != NULL))
        put_as_it_came(&b, a, good ? STDOUT_FILENO : STDERR_FILENO);
    else
        put_refusal(c, &b, a, doc);
    if (b.len > 0 && b.data[b.len - 1] != '\n')
        buf_byte(&b, '\n');
    if (good)
        ctl_put_out(&b);
    else
        fwrite(b.data, 1, b.len, stderr);
    buf_fini(&b);
    json_decref(doc);
    return good ? CTL_OK : CTL_REFUSED;
}

int ctl_say_doc(const struct ctl *c, const json_t *doc, view_fn view)
{
    struct buf b;

    if (c->form != FORM_YAML) {
        ctl_print(c->form == FORM_TABLE ? view : view_pretty, doc);
        return CTL_OK;
    }
    buf_init(&b);
    if (yaml_put(&b, doc))
        ctl_put_out(&b);
    buf_fini(&b);
    return CTL_OK;
}

json_t *ctl_show(const struct ctl *c, struct ctl_call call, view_fn view, int *rc)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK)
        *rc = ctl_say_answer(c, &a, view);
    if (*rc == CTL_OK)
        doc = json_loadb((const char *)a.body.data, a.body.len, 0, NULL);
    buf_fini(&a.body);
    return doc;
}

int ctl_do(const struct ctl *c, struct ctl_call call, view_fn view)
{
    int rc;

    json_decref(ctl_show(c, call, view, &rc));
    return rc;
}

json_t *ctl_fetch(const struct ctl *c, struct ctl_call call, int *rc)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK && a.status == 200 && c->form == FORM_TABLE)
        doc = json_loadb((const char *)a.body.data, a.body.len, 0, NULL);
    if (*rc == CTL_OK && doc == NULL)
        *rc = ctl_say_answer(c, &a, NULL);
    buf_fini(&a.body);
    return doc;
}

json_t *ctl_get(const struct ctl *c, const char *path, const char *name, int *rc)
{
    struct ctl plain = *c;
    json_t *doc;

    plain.form = FORM_TABLE;
    doc = ctl_fetch(&plain, (struct ctl_call){ .method = "GET", .path = path, .name = name }, rc);
    if (doc == NULL && *rc == CTL_OK) /* no JSON */
        *rc = CTL_REFUSED;
    return doc;
}
