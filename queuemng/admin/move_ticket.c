/* move_ticket.c: POST /v1/admin/queues/NAME/tickets/TICKET/move?lane=LANE. TICKET is a
 * token, or the ticket's id as in its pass (jti, "<segment>-<number>"). The answer waits
 * until the nodes have done it. */
#include "queuemng/admin/move_ticket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/admin/ticket_name.h"
#include "queuemng/lead/steps.h"

struct way { /* of one ticket */
    struct list_node in; /* mng_service.tickets */
    struct admin_held *answer;
    uint64_t order;
    char queue[NAME_MAX_LEN + 1], lane[NAME_MAX_LEN + 1];
};

/* ---- what is asked for ---------------------------------------------------------------- */

/* "TICKET/move" -> "TICKET" */
static bool split(char *text, size_t cap, const char *path)
{
    const char *slash = strchr(path, '/');

    if (slash == NULL || strcmp(slash, "/move") != 0 || (size_t)(slash - path) >= cap)
        return false;
    memcpy(text, path, (size_t)(slash - path));
    text[slash - path] = '\0';
    return true;
}

/* ---- the answer ------------------------------------------------------------------------ */

static void compose(struct admin_ans *a, const struct way *w, const struct mng_ticket_end *e)
{
    char id[48];

    switch (e->rc) {
    case 0:
        snprintf(id, sizeof(id), "%llu-%u", (unsigned long long)e->seg, e->number);
        admin_json(a, 200, json_pack("{s:s,s:s,s:s,s:b}", "queue", w->queue, "lane", w->lane,
                                     "ticket", id, "moved", !e->was));
        break;
    case SQ_EUNKNOWN:
        admin_problem(a, 404, "ticket_unknown", "this ticket does not wait any more");
        break;
    case SQ_ECONFLICT:
        admin_problem(a, 409, "conflict", "this ticket was let in already");
        break;
    case SQ_EBUSY:
        admin_problem(a, 409, "conflict", "not before the draw: it has no place yet");
        break;
    case SQ_EUNAVAIL:
        admin_problem(a, 503, "queue_unavailable", "not possible now; it is where it was");
        break;
    default:
        admin_problem(a, 503, "queue_unavailable",
                      "not certain whether it was moved: ask again, it is done once only");
    }
}

static void answer(struct mng_service *s, struct way *w, const struct mng_ticket_end *e)
{
    list_remove(&s->tickets, &w->in);
    compose(admin_held_ans(w->answer), w, e);
    admin_send(w->answer);
    free(w);
}

void mng_tickets_answer(struct mng_service *s)
{
    struct mng_ticket_end e;

    list_each (&s->tickets, it) {
        struct way *w = container_of(it, struct way, in);

        if (mng_ticket_ended(s->mng, w->order, &e))
            answer(s, w, &e);
    }
}

void mng_tickets_end(struct mng_service *s)
{
    const struct mng_ticket_end unsure = { .rc = SQ_ETIMEOUT };

    list_each (&s->tickets, it)
        answer(s, container_of(it, struct way, in), &unsure);
}

/* ---- the order ------------------------------------------------------------------------- */

static void refused(struct admin_call *c, const struct err *e)
{
    if (e->code == SQ_EUNKNOWN && mng_queue_get(c->s->mng, c->name, NULL) != NULL)
        admin_problem(c->a, 404, "ticket_unknown", "%s", e->text);
    else
        admin_err(c->a, e);
}

static void move(struct admin_call *c, seg_id seg, uint32_t number, const char *lane)
{
    struct mng_service *s = c->s;
    struct way *w = calloc(1, sizeof(*w));
    struct err e = { 0 };
    int rc;

    if (w == NULL) {
        admin_problem(c->a, 503, "queue_unavailable", "out of memory");
        return;
    }
    strcpy(w->queue, c->name);
    snprintf(w->lane, sizeof(w->lane), "%s", lane);
    rc = mng_ticket_move(s->mng, ev_now(s->ev), c->name, seg, number, lane,
                         mng_service_step(s), &w->order, &e);
    if (rc < 0) {
        free(w);
        refused(c, &e);
        return;
    }
    c->a->status = 202; /* for the log of changes: how it ends is not known yet */
    w->answer = admin_hold(c->a);
    if (w->answer == NULL) {
        free(w);
        admin_problem(c->a, 503, "queue_unavailable", "out of memory: ask again");
        return;
    }
    list_push_back(&s->tickets, &w->in);
}

void admin_move_ticket(struct admin_call *c, const char *path)
{
    char text[TOKEN_TEXT_LEN + 1], lane[NAME_MAX_LEN + 1];
    struct ticket_name n;

    if (!split(text, sizeof(text), path))
        admin_problem(c->a, 404, "not_found", "no such path");
    else if (strcmp(c->q->method, "POST") != 0)
        admin_not_allowed(c->a, "POST");
    else if (ticket_name_read(&n, &c->s->keys.token, text) < 0)
        admin_problem(c->a, 404, "ticket_unknown", "neither a token of ours nor an id");
    else if (!admin_query(c->q->query, "lane", lane, sizeof(lane)))
        admin_problem(c->a, 400, "bad_request", "?lane= must name a lane");
    else
        move(c, n.seg, n.number, lane);
}
