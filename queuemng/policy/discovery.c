/* discovery.c: lists of addresses are short: each is looked for in all. */
#include "queuemng/policy/discovery.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

bool discovered_has(const struct discovered *d, const char *address)
{
    for (unsigned i = 0; i < d->n; i++)
        if (strcmp(d->address[i], address) == 0)
            return true;
    return false;
}

bool discovered_add(struct discovered *d, const char *address)
{
    unsigned i = d->n;

    if (discovered_has(d, address))
        return true;
    if (d->n == DISCOVER_ALL)
        return false;
    for (; i > 0 && strcmp(d->address[i - 1], address) > 0; i--)
        memcpy(d->address[i], d->address[i - 1], DISCOVER_TEXT);
    copy_text(d->address[i], DISCOVER_TEXT, address);
    d->n++;
    return true;
}

static bool is_v6(const char *address)
{
    return strchr(address, ':') != NULL;
}

static bool has_some(const struct name_part *p)
{
    return p->how == NAME_FOUND && p->n > 0;
}

/* Addresses of one version: those of its answer, or those that were known. */
static void take(struct discovered *all, const struct discovered *was, const struct name_part *p, bool v6, bool other)
{
    for (unsigned i = 0; has_some(p) && i < p->n && i < DISCOVER_MOST; i++)
        (void)discovered_add(all, p->address[i]);
    if (has_some(p) || (p->how != NAME_FAILED && other))
        return;
    for (unsigned i = 0; i < was->n; i++)
        if (is_v6(was->address[i]) == v6)
            (void)discovered_add(all, was->address[i]);
}

/* A part of it is kept although no answer of now has it. */
static const char *why_kept(const struct discovered *was, const struct name_answer *a)
{
    if (!has_some(&a->v4) && !has_some(&a->v6))
        return a->v4.how != NAME_FOUND ? a->v4.why : a->v6.why;
    for (unsigned i = 0; i < was->n; i++) {
        const struct name_part *p = is_v6(was->address[i]) ? &a->v6 : &a->v4;

        if (p->how == NAME_FAILED)
            return p->why;
    }
    return "";
}

static void bound(struct discovered *d, const struct discovered *all, const struct discovered *was, unsigned most)
{
    for (unsigned known = 0; known < 2; known++)
        for (unsigned i = 0; i < all->n && d->n < most; i++)
            if (discovered_has(was, all->address[i]) == (known == 0))
                (void)discovered_add(d, all->address[i]);
    d->left_out = all->n - d->n;
}

static bool is_same(const struct discovered *a, const struct discovered *b)
{
    bool same = a->n == b->n;

    for (unsigned i = 0; same && i < a->n; i++)
        same = strcmp(a->address[i], b->address[i]) == 0;
    return same;
}

static msec_t until_next(const struct name_answer *a, const struct discovery_rules *r, bool well)
{
    msec_t ttl = r->most;

    if (!well)
        return r->least;
    if (has_some(&a->v4))
        ttl = ms_min(ttl, (msec_t)a->v4.ttl_s * 1000);
    if (has_some(&a->v6))
        ttl = ms_min(ttl, (msec_t)a->v6.ttl_s * 1000);
    return ms_max(ttl, r->least);
}

bool discovered_hear(struct discovered *d, const struct name_answer *a, const struct discovery_rules *r, msec_t now)
{
    struct discovered was = *d, all = { 0 };
    const char *why = why_kept(&was, a);

    assert(r->least > 0 && r->addresses > 0);
    take(&all, &was, &a->v4, false, has_some(&a->v6));
    take(&all, &was, &a->v6, true, has_some(&a->v4));
    *d = (struct discovered){ .heard = has_some(&a->v4) || has_some(&a->v6) ? now : was.heard };
    bound(d, &all, &was, r->addresses);
    copy_text(d->why, sizeof(d->why), why);
    d->due = now + until_next(a, r, why[0] == 0);
    return !is_same(d, &was);
}
