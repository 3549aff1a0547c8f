/* names.c: a question per name; its answer is a step of the core. */
#include "queuemng/service/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/task/url.h"
#include "queuemng/process/steps.h"

struct question {
    struct list_node in; /* mng_service.names */
    struct mng_service *s; /* ref */
    char endpoint[TASK_NAME_MAX + 1];
    char *url; /* owned */
};

static void question_free(struct question *q)
{
    list_remove(&q->s->names, &q->in);
    free(q->url);
    free(q);
}

static void put_part(struct name_part *to, const struct host_part *p)
{
    to->how = p->how == HOST_HAS ? NAME_FOUND : p->how == HOST_HAS_NONE ? NAME_NONE : NAME_FAILED;
    to->ttl_s = p->ttl_s;
    for (; to->n < p->n && to->n < DISCOVER_MOST; to->n++) {
        char text[NET_TEXT_MAX];

        net_ip_text(&p->addr[to->n], text);
        copy_text(to->address[to->n], DISCOVER_TEXT, text);
    }
    copy_text(to->why, sizeof(to->why), p->why);
}

static void tell(struct mng_service *s, const char *endpoint, const char *url, const struct name_answer *a)
{
    if (s->leads)
        mng_name_told(s->mng, ev_now(s->ev), endpoint, url, a, mng_service_step(s));
}

static void on_found(void *arg, const struct host_found *f)
{
    struct question *q = arg;
    struct name_answer a = { 0 };

    put_part(&a.v4, &f->v4);
    put_part(&a.v6, &f->v6);
    tell(q->s, q->endpoint, q->url, &a);
    question_free(q);
}

static void cannot_ask(struct mng_service *s, const char *endpoint, const char *url)
{
    static const struct name_answer none = {
        .v4 = { .how = NAME_FAILED, .why = "name: it cannot be asked for" },
        .v6 = { .how = NAME_FAILED, .why = "name: it cannot be asked for" },
    };

    tell(s, endpoint, url, &none);
}

static void ask(void *ctx, const char *endpoint, const char *url)
{
    struct mng_service *s = ctx;
    struct question *q = calloc(1, sizeof(*q));
    struct url u;

    if (q == NULL || (q->url = strdup(url)) == NULL || url_parse(&u, url) != NULL) {
        if (q != NULL)
            free(q->url);
        free(q);
        return; /* a later tick asks again */
    }
    q->s = s;
    copy_text(q->endpoint, sizeof(q->endpoint), endpoint);
    list_push_back(&s->names, &q->in);
    if (hosts_find(&s->hosts, u.host, on_found, q))
        return;
    cannot_ask(s, q->endpoint, q->url);
    question_free(q);
}

void mng_names_tick(struct mng_service *s)
{
    mng_each_name_due(s->mng, ev_now(s->ev), ask, s);
}

void mng_names_end(struct mng_service *s)
{
    hosts_fini(&s->hosts);
    list_each_of (&s->names, struct question, in, q)
        question_free(q);
}
