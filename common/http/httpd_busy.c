/* httpd_busy.c: see httpd_busy.h. */
#include "common/http/httpd_busy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

/* ---- input ---- */

void in_free(struct conn *c)
{
    struct busy *b = c->busy;

    c->h->counts.in_now -= b->in_cap;
    c->h->counts.large_now -= b->large;
    free(b->in);
    b->in = NULL;
    b->in_len = b->in_cap = b->large = 0;
}

bool in_large(struct conn *c, size_t n)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    size_t more = n > b->large ? n - b->large : 0;

    if (h->counts.large_now + more > h->opts.max_input_bytes / HTTPD_LARGE_SHARE)
        return false;
    h->counts.large_now += more;
    assert(more <= UINT32_MAX - b->large);
    b->large += (uint32_t)more;
    return true;
}

bool in_room(struct conn *c, size_t n)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    size_t cap = b->in_cap != 0 ? b->in_cap : HTTPD_IN_START;
    char *p;

    if (b->in_cap - b->in_len >= n)
        return true;
    while (cap - b->in_len < n)
        cap *= 2;
    if (b->in_len + n > HTTP_MAX_REQUEST(b->st.max_body) + HTTPD_SCRATCH ||
        h->counts.in_now + cap - b->in_cap > h->opts.max_input_bytes || !memory_is_spare(MEMORY_SPARE))
        return false;
    p = realloc(b->in, cap + HTTP_SLACK);
    if (p == NULL)
        return false;
    assert(cap > b->in_cap && cap >= b->in_len + n);
    h->counts.in_now += cap - b->in_cap;
    b->in = p;
    b->in_cap = cap;
    return true;
}

/* ---- output ---- */

static void out_release(struct httpd *h, char *p, size_t cap)
{
    if (cap == HTTPD_OUT_BLOCK && h->n_free_out < HTTPD_POOL_MAX)
        h->free_out[h->n_free_out++] = p;
    else
        free(p);
}

static void count_block(struct httpd *h, size_t was, size_t is)
{
    h->counts.out_now += (is > HTTPD_OUT_BLOCK ? is : 0) - (was > HTTPD_OUT_BLOCK ? was : 0);
}

void out_give(struct httpd *h, struct busy *b)
{
    if (b->out != NULL)
        out_release(h, b->out, b->out_cap);
    count_block(h, b->out_cap, 0);
    b->out = NULL;
    b->out_at = b->out_len = b->out_cap = 0;
}

char *out_room(struct conn *c, size_t n)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    size_t cap = HTTPD_OUT_BLOCK;
    char *p;

    if (b->out_cap - b->out_len >= n)
        return b->out + b->out_len;
    while (cap < b->out_len + n && cap < HTTPD_OUT_EXACT)
        cap *= 2;
    cap = cap < b->out_len + n ? b->out_len + n : cap;
    if (cap == HTTPD_OUT_BLOCK && h->n_free_out > 0)
        p = h->free_out[--h->n_free_out];
    else
        p = malloc(cap);
    if (p == NULL)
        return NULL;
    if (b->out != NULL) {
        memcpy(p, b->out, b->out_len);
        out_release(h, b->out, b->out_cap);
    }
    count_block(h, b->out_cap, cap);
    b->out = p;
    b->out_cap = cap;
    return p + b->out_len;
}

/* ---- all of it ---- */

void pieces_free(struct busy *b)
{
    free(b->pieces);
    b->pieces = NULL;
}

struct busy *busy_take(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = h->free_busy;

    if (c->busy != NULL)
        return c->busy;
    if (b != NULL) {
        h->free_busy = b->next_free;
        h->n_free_busy--;
        memset(b, 0, sizeof(*b));
    } else {
        b = calloc(1, sizeof(*b));
    }
    if (b != NULL)
        b->st.max_body = h->opts.max_body;
    c->busy = b;
    return b;
}

void busy_give(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;

    if (b == NULL)
        return;
    in_free(c);
    out_give(h, b);
    pieces_free(b);
    c->busy = NULL;
    if (h->n_free_busy >= HTTPD_POOL_MAX) {
        free(b);
        return;
    }
    b->next_free = h->free_busy;
    h->free_busy = b;
    h->n_free_busy++;
}

/* ---- requests ---- */

static struct httpd_req *req_take(struct httpd *h)
{
    struct httpd_req *r = h->free_req;

    if (r == NULL)
        return calloc(1, sizeof(*r));
    h->free_req = r->next;
    h->n_free_req--;
    memset(r, 0, sizeof(*r));
    return r;
}

static void queue(struct conn *c, struct httpd_req *r)
{
    struct busy *b = c->busy;

    r->conn = c;
    if (b->first == NULL)
        b->first = r;
    else
        b->last->next = r;
    b->last = r;
    assert(b->n_reqs < UINT16_MAX);
    b->n_reqs++;
}

struct httpd_req *req_new(struct conn *c)
{
    struct httpd_req *r = req_take(c->h);

    if (r != NULL)
        queue(c, r);
    return r;
}

struct httpd_req *req_at_hand(struct conn *c)
{
    struct httpd *h = c->h;

    assert(c->busy == NULL);
    if (SQ_UNLIKELY(h->hand == NULL) && (h->hand = req_take(h)) == NULL)
        return NULL;
    *h->hand = (struct httpd_req){ .conn = c, .at_hand = true, .keep_alive = true };
    return h->hand;
}

bool req_keep(struct httpd_req *r)
{
    struct conn *c = r->conn;

    assert(r->at_hand && r == c->h->hand && !r->answered && c->busy == NULL);
    if (busy_take(c) == NULL)
        return false;
    c->h->hand = NULL;
    r->at_hand = false;
    c->busy->fresh = true;
    queue(c, r);
    return true;
}

void req_give(struct httpd *h, struct httpd_req *r)
{
    if (r->ans != NULL)
        h->counts.out_now -= r->ans_cap;
    free(r->ans);
    if (h->n_free_req >= HTTPD_POOL_MAX) {
        free(r);
        return;
    }
    r->next = h->free_req;
    h->free_req = r;
    h->n_free_req++;
}

void req_pop(struct conn *c)
{
    struct busy *b = c->busy;
    struct httpd_req *r = b->first;

    b->first = r->next;
    b->n_reqs--;
    req_give(c->h, r);
}

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
