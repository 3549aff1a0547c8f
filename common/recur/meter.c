/* meter.c: windows are those of three cron expressions. */
#include "common/recur/meter.h"

#define WRONG_MS 86400000
#define PIECES   32 /* parts of what is left, for each node: the smaller, the less stays in purses */

bool meter_window_at(struct meter_window *w, int64_t length_s, const struct zone *z, int64_t at_ms)
{
    const char *text = length_s == 60 ? "* * * * *" : length_s == 3600 ? "0 * * * *" : "0 0 * * *";
    int64_t at = at_ms / 1000 - (at_ms % 1000 < 0), from = CRON_NEVER, to;
    struct cron_error e;
    struct cron c;

    if ((length_s != 60 && length_s != 3600 && length_s != 86400) || !cron_read(&c, text, &e))
        return false;
    for (to = cron_next(&c, z, at - 3 * length_s); to <= at; to = cron_next(&c, z, to))
        from = to;
    if (from == CRON_NEVER || to == CRON_NEVER)
        return false;
    *w = (struct meter_window){ .from_ms = from * 1000, .to_ms = to * 1000 };
    return true;
}

bool meter_is_over(const struct meter *m, int64_t now_ms)
{
    return m->window.no == 0 || now_ms >= m->window.to_ms || m->window.from_ms - now_ms > WRONG_MS;
}

void meter_begins(struct meter *m, const struct meter_window *at, uint64_t no)
{
    m->window = *at;
    m->window.no = no;
    m->given = 0;
}

static uint64_t left_of(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

uint64_t meter_hears(struct meter *m, const struct purse *has, uint64_t given)
{
    if (has->window.no != m->window.no || has->taken <= given)
        return given;
    m->given += has->taken - given;
    return has->taken;
}

/* Units of this window that the node still has. */
static uint64_t there(const struct meter *m, const struct purse *has, uint64_t given)
{
    const struct purse p = { m->window, given, has->window.no == m->window.no ? has->taken : 0 };

    return purse_left(&p, m->units);
}

bool meter_can_give(const struct meter *m, const struct purse *has, uint64_t given, uint64_t needs)
{
    uint64_t lacks = left_of(needs, there(m, has, given));

    return lacks <= left_of(m->units, m->given) || m->given == 0;
}

uint64_t meter_gives(struct meter *m, const struct purse *has, uint64_t given, uint64_t needs, unsigned nodes)
{
    uint64_t left = left_of(m->units, m->given), piece = left / (PIECES * (nodes > 0 ? nodes : 1));
    uint64_t more = left_of(u64_max(needs, piece), there(m, has, given));

    if (!meter_can_give(m, has, given, needs))
        return given; /* nothing is taken from those that fit */
    m->given += more;
    return given + more;
}

void purse_gets(struct purse *p, const struct meter_window *w, uint64_t given)
{
    if (w->no < p->window.no)
        return;
    if (w->no > p->window.no)
        *p = (struct purse){ .window = *w };
    p->given = u64_max(p->given, given);
}

uint64_t purse_left(const struct purse *p, uint64_t units)
{
    return left_of(p->taken == 0 ? p->given : u64_min(p->given, units), p->taken);
}

uint64_t purse_most(const struct purse *p, uint64_t units, int64_t now_ms)
{
    return now_ms < p->window.to_ms ? purse_left(p, units) : 0;
}

void purse_pays(struct purse *p, uint64_t cost)
{
    p->taken += cost;
}

void purse_returns(struct purse *p, uint64_t no, uint64_t units)
{
    if (no == p->window.no)
        p->taken -= u64_min(units, p->taken);
}

void purse_resumes(struct purse *p, const struct meter_window *w, uint64_t given, const struct purse *kept)
{
    bool same = kept != NULL && kept->window.no == w->no;

    *p = (struct purse){ *w, given, same ? kept->taken : given };
}
