/* out_call.c: those that are over are kept for the next ones, with their buffers. */
#include "task/out/out_call.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "task/out/address.h"

#define SPARE_MAX  256
#define BUFFER_MAX 4096 /* bytes of a buffer that is kept */

static struct list *list_of(struct out_call *c)
{
    struct out_target *t = c->target;

    return c->place == PLACE_CLIENT ? &t->calls : c->place == PLACE_NAME ? &t->waiting : &t->out->ending;
}

/* Keeps calls with a client in the order of their deadlines. A target's calls have one deadline, so the walk
 * ends at once; by requests of many deadlines it is as long as the target has calls (max_concurrent). */
void out_call_enter(struct out_call *c, enum out_place place)
{
    struct list *l;
    struct list_node *before;

    c->place = (uint8_t)place;
    l = list_of(c);
    before = l->head.prev;
    while (place == PLACE_CLIENT && before != &l->head && container_of(before, struct out_call, in)->due > c->due)
        before = before->prev;
    list_insert_after(l, before, &c->in);
}

void out_call_leave(struct out_call *c)
{
    list_remove(list_of(c), &c->in);
}

struct out_call *out_call_new(struct out *o)
{
    struct list_node *n = list_first(&o->spare);
    struct out_call *c;

    if (n == NULL)
        return calloc(1, sizeof(*c));
    list_remove(&o->spare, n);
    c = container_of(n, struct out_call, in);
    *c = (struct out_call){ .head = c->head, .body = c->body, .got = c->got,
                            .fields = c->fields };
    return c;
}

static void tidy(struct buf *b, bool all)
{
    if (all || b->cap > BUFFER_MAX) {
        buf_fini(b);
        buf_init(b);
    }
    buf_reset(b);
}

static void libcurl_free(struct libcurl_call *u)
{
    if (u->easy == NULL)
        return;
    curl_easy_cleanup(u->easy);
    curl_slist_free_all(u->fields);
    curl_slist_free_all(u->connect_to);
    buf_fini(&u->head);
}

void out_call_free(struct out *o, struct out_call *c)
{
    bool is_spare = o->spare.n < SPARE_MAX;

    libcurl_free(&c->curl);
    tidy(&c->head, !is_spare);
    tidy(&c->body, !is_spare);
    tidy(&c->got, !is_spare);
    tidy(&c->fields, !is_spare);
    if (is_spare)
        list_push_front(&o->spare, &c->in);
    else
        free(c);
}

void out_call_free_spare(struct out *o)
{
    list_each_of (&o->spare, struct out_call, in, c) {
        list_remove(&o->spare, &c->in);
        tidy(&c->head, true);
        tidy(&c->body, true);
        tidy(&c->got, true);
        tidy(&c->fields, true);
        free(c);
    }
}

bool out_call_has_body(const struct out_call *c, const char *method)
{
    return c->body.len > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
           strcmp(method, "PATCH") == 0;
}

static void tell(struct out_call *c)
{
    struct call_answer *a = &c->answer;

    if (a->fault == CALL_NONE) {
        a->body = c->got.data;
        a->n = (uint32_t)c->got.len;
    } else {
        a->status = 0;
    }
    c->fn(c->arg, a);
}

static void run_ending(void *arg)
{
    struct out *o = arg;
    struct list_node *n;

    o->posted = false;
    for (size_t left = o->ending.n; left > 0 && (n = list_first(&o->ending)) != NULL; left--) {
        struct out_call *c = container_of(n, struct out_call, in);

        out_call_leave(c);
        tell(c); /* the target may go */
        out_call_free(o, c);
    }
}

/* Once it has left, no fault says that nothing was sent: that would cost no attempt. */
static enum call_fault fault_of(const struct out_call *c, enum call_fault f)
{
    return !c->left || f == CALL_NONE || f == CALL_TIMEOUT || f == CALL_TOO_LONG ? f : CALL_RESET;
}

void out_call_ends(struct out_call *c, enum call_fault fault, const char *why)
{
    struct out *o = c->target->out;

    c->answer.fault = fault_of(c, fault);
    c->answer.ms = (uint32_t)(ev_now(o->ev) - c->began);
    if (fault == CALL_CONNECT)
        address_failed(c->target);
    if (fault != CALL_NONE)
        copy_text(c->answer.why, sizeof(c->answer.why), why);
    out_call_enter(c, PLACE_ENDING);
    if (!o->posted)
        ev_post(o->ev, run_ending, o);
    o->posted = true;
}
