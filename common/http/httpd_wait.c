/* httpd_wait.c: see httpd_wait.h. */
#include "common/http/httpd_wait.h"

void httpd_arm(struct httpd *h, msec_t when)
{
    if (when < h->timer_at) {
        h->timer_at = when;
        ev_timer_at(h->timer, when);
    }
}

static struct list *wait_list(struct conn *c)
{
    return c->wait == WAIT_US ? &c->h->waiting_us : &c->h->wait[c->wait];
}

void conn_wait(struct conn *c, enum conn_wait w, bool fresh)
{
    struct httpd *h = c->h;

    if (list_linked(&c->in_wait)) {
        if (c->wait == w && !fresh) {
            if (w != WAIT_US)
                httpd_arm(h, c->deadline);
            return;
        }
        list_remove(wait_list(c), &c->in_wait);
    }
    c->wait = (uint8_t)w;
    list_push_back(wait_list(c), &c->in_wait);
    if (w == WAIT_US)
        return;
    c->deadline = ev_now(h->ev) + h->wait_ms[w];
    httpd_arm(h, c->deadline);
}

void conn_wait_end(struct conn *c)
{
    if (list_linked(&c->in_wait))
        list_remove(wait_list(c), &c->in_wait);
}
