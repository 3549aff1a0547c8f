/* person.c: records in arrays, found by ticket; subjects by their keyed hash, too. */
#include "segment/line/person.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base.h"

/* ---- subjects ------------------------------------------------------------------------ */

void subjects_init(struct subjects *s)
{
    memset(s, 0, sizeof(*s));
    ticket_idx_init(&s->by_ticket, sizeof(struct subject));
    map_init(&s->by_hash, 0);
}

static void told(const struct subjects *s, const struct subject *x, bool here)
{
    if (s->watch.fn != NULL && subject_has_name(x->text, x->len))
        s->watch.fn(s->watch.ctx, x, here);
}

void subjects_fini(struct subjects *s)
{
    struct subjects was = *s;

    subjects_init(s);
    s->watch = was.watch;
    ticket_idx_fini(&was.by_ticket);
    map_fini(&was.by_hash);
    for (uint32_t i = 0; i < was.cap; i++) {
        if (was.v[i].text != NULL)
            told(s, &was.v[i], false);
        free(was.v[i].text);
    }
    free(was.v);
}

bool subjects_end(struct subjects *s, uint32_t *at, uint32_t n)
{
    uint32_t end = s->cap - *at > n ? *at + n : s->cap;

    assert(*at <= s->cap);
    ticket_idx_fini(&s->by_ticket);
    map_fini(&s->by_hash);
    for (; *at < end; ++*at) {
        struct subject *x = &s->v[*at];

        if (x->text == NULL)
            continue;
        told(s, x, false);
        free(x->text);
        x->text = NULL;
        s->n--;
    }
    if (*at < s->cap)
        return true;
    assert(s->n == 0);
    s->cap = *at = 0; /* nothing is left to be looked at */
    subjects_fini(s);
    return false;
}

void subjects_swap(struct subjects *a, struct subjects *b)
{
    struct subjects was = *a;
    struct subject_watch watch = b->watch;

    *a = *b;
    a->watch = was.watch;
    *b = was;
    b->watch = watch;
}

static int reserve_subject(struct subjects *s)
{
    uint32_t cap = ticket_idx_grown(&s->by_ticket, s->v, s->n + 1ull, s->cap);
    struct subject *v;

    if (cap == TICKET_IDX_NONE)
        return SQ_ENOMEM;
    if (cap == s->cap)
        return 0;
    v = realloc(s->v, cap * sizeof(*v));
    if (v == NULL)
        return SQ_ENOMEM;
    s->v = v;
    for (uint32_t i = cap; i-- > s->cap;) {
        v[i] = (struct subject) { .hash = s->free };
        s->free = i + 1;
    }
    s->cap = cap;
    return 0;
}

/* The name leads to record i, issued then. A name may have two tickets for a while: the later one was given in
 * place of the other, and is the one that counts, whichever of them comes first into the table. */
static int name_leads_to(struct subjects *s, uint64_t hash, uint32_t i, uint32_t issued_s)
{
    uint64_t was = map_get(&s->by_hash, hash);

    return was != MAP_NONE && s->v[was].issued_s > issued_s ? 0 : map_set(&s->by_hash, hash, i);
}

int subjects_add(struct subjects *s, const struct subject *x)
{
    uint32_t i;
    char *text;

    if (reserve_subject(s) < 0)
        return SQ_ENOMEM;
    text = malloc(x->len > 0 ? x->len : 1);
    if (text == NULL)
        return SQ_ENOMEM;
    assert(s->free != 0 && s->free <= s->cap); /* reserved */
    i = s->free - 1;
    if (name_leads_to(s, x->hash, i, x->issued_s) < 0) {
        free(text);
        return SQ_ENOMEM;
    }
    s->free = (uint32_t)s->v[i].hash;
    memcpy(text, x->text, x->len);
    s->v[i] = *x;
    s->v[i].text = text;
    s->n++;
    ticket_idx_put(&s->by_ticket, s->v, i);
    told(s, &s->v[i], true);
    return 0;
}

/* Takes out again all that was taken; names lead again to whom they led. */
static void ungather(struct subjects *s, const struct subjects *from)
{
    const struct subject *x;
    int rc = 0;

    for (uint32_t i = 0; (x = subjects_next(from, &i)) != NULL;)
        subjects_del(s, x->id);
    for (uint32_t i = 0; (x = subjects_next(s, &i)) != NULL;)
        rc |= name_leads_to(s, x->hash, i - 1, x->issued_s);
    assert(rc == 0); /* the map had all of them */
}

int subjects_gather(struct subjects *s, const struct subjects *from, bool tell)
{
    struct subject_watch watch = s->watch;
    const struct subject *x;
    int rc = 0;

    s->watch = tell ? watch : (struct subject_watch){ 0 };
    for (uint32_t i = 0; rc == 0 && (x = subjects_next(from, &i)) != NULL;)
        if (subjects_by_ticket(s, x->id) == NULL) /* cannot be else */
            rc = subjects_add(s, x);
    s->watch = (struct subject_watch){ 0 };
    if (rc < 0)
        ungather(s, from);
    s->watch = watch;
    return rc;
}

bool subjects_has(const struct subjects *s, uint64_t hash)
{
    return s->n > 0 && map_get(&s->by_hash, hash) != MAP_NONE;
}

/* By the names, whatever their passes are bound to. Two names with one hash: the one that came later hides
 * the other, and neither gets the other's ticket. */
const struct subject *subjects_by_name(const struct subjects *s, uint64_t hash,
                                       const char *text, size_t len)
{
    uint64_t i = s->n > 0 ? map_get(&s->by_hash, hash) : MAP_NONE;
    const struct subject *x = i != MAP_NONE ? &s->v[i] : NULL;
    size_t head = subject_head(text, len), own = x != NULL ? subject_head(x->text, x->len) : 0;

    if (x == NULL || x->len - own != len - head ||
        memcmp(x->text + own, text + head, len - head) != 0)
        return NULL;
    return x;
}

const struct subject *subjects_by_ticket(const struct subjects *s, struct ticket_id id)
{
    uint32_t i = s->n > 0 ? ticket_idx_find(&s->by_ticket, s->v, id) : TICKET_IDX_NONE;

    return i != TICKET_IDX_NONE ? &s->v[i] : NULL;
}

bool subjects_found(struct subjects *s, struct ticket_id id)
{
    uint32_t i = s->n > 0 ? ticket_idx_find(&s->by_ticket, s->v, id) : TICKET_IDX_NONE;

    if (i == TICKET_IDX_NONE)
        return false;
    s->v[i].found = true;
    if (s->v[i].joins != 0) /* 256 of them are 0: too many */
        s->v[i].joins++;
    return s->v[i].joins != 0;
}

bool subjects_give_back(struct subjects *s, struct ticket_id id, bool surely)
{
    uint32_t i = s->n > 0 ? ticket_idx_find(&s->by_ticket, s->v, id) : TICKET_IDX_NONE;
    struct subject *x = i != TICKET_IDX_NONE ? &s->v[i] : NULL;

    if (x == NULL || x->joins == 0 || (surely && x->found))
        return false;
    if (x->joins == 1)
        return true;
    x->joins--;
    return false;
}

void subjects_del_known(struct subjects *s, struct ticket_id id)
{
    struct subject gone;
    uint32_t i = ticket_idx_find(&s->by_ticket, s->v, id);

    if (i == TICKET_IDX_NONE)
        return;
    ticket_idx_del(&s->by_ticket, s->v, i);
    if (map_get(&s->by_hash, s->v[i].hash) == i)
        map_del(&s->by_hash, s->v[i].hash);
    gone = s->v[i];
    s->v[i] = (struct subject) { .hash = s->free };
    s->free = i + 1;
    if (--s->n == 0)
        subjects_fini(s);
    told(s, &gone, false);
    free(gone.text);
}

const struct subject *subjects_next(const struct subjects *s, uint32_t *i)
{
    while (*i < s->cap) {
        const struct subject *x = &s->v[(*i)++];

        if (x->text != NULL)
            return x;
    }
    return NULL;
}

/* ---- contacts ---------------------------------------------------------------------- */

void contacts_init(struct contacts *s)
{
    memset(s, 0, sizeof(*s));
    ticket_idx_init(&s->by_ticket, sizeof(struct contact));
}

void contacts_fini(struct contacts *s)
{
    for (uint32_t i = 0; i < s->cap; i++)
        if (s->v[i].id.seg != 0)
            free(s->v[i].sealed);
    free(s->v);
    ticket_idx_fini(&s->by_ticket);
    contacts_init(s);
}

bool contacts_end(struct contacts *s, uint32_t *at, uint32_t n)
{
    uint32_t end = s->cap - *at > n ? *at + n : s->cap;

    assert(*at <= s->cap);
    ticket_idx_fini(&s->by_ticket);
    for (; *at < end; ++*at) {
        if (s->v[*at].id.seg != 0)
            free(s->v[*at].sealed);
        s->v[*at] = (struct contact){ 0 };
    }
    if (*at < s->cap)
        return true;
    s->cap = *at = 0;
    contacts_fini(s);
    return false;
}

static int reserve_contact(struct contacts *s)
{
    uint32_t cap = ticket_idx_grown(&s->by_ticket, s->v, s->n + 1ull, s->cap);
    struct contact *v;

    if (cap == TICKET_IDX_NONE)
        return SQ_ENOMEM;
    if (cap == s->cap)
        return 0;
    v = realloc(s->v, cap * sizeof(*v));
    if (v == NULL)
        return SQ_ENOMEM;
    s->v = v;
    for (uint32_t i = cap; i-- > s->cap;) {
        v[i] = (struct contact){ .id.number = s->free };
        s->free = i + 1;
    }
    s->cap = cap;
    return 0;
}

/* A new record of this ticket; there is room. */
static struct contact *add_contact(struct contacts *s, struct ticket_id id)
{
    uint32_t i = s->free - 1;

    assert(s->free != 0 && id.seg != 0);
    s->free = s->v[i].id.number;
    s->v[i] = (struct contact){ .id = id };
    s->n++;
    ticket_idx_put(&s->by_ticket, s->v, i);
    return &s->v[i];
}

static void lose_bytes(struct contacts *s, struct contact *x)
{
    s->held -= x->n > 0;
    s->bytes -= x->n;
    free(x->sealed);
    x->sealed = NULL;
    x->n = 0;
}

int contacts_put(struct contacts *s, const struct contact *x)
{
    uint8_t *sealed = x->n > 0 ? malloc(x->n) : NULL;
    struct contact *was;

    if ((x->n > 0 && sealed == NULL) || reserve_contact(s) < 0) {
        free(sealed);
        return SQ_ENOMEM;
    }
    if (x->n > 0)
        memcpy(sealed, x->sealed, x->n);
    was = contacts_find(s, x->id);
    if (was == NULL)
        was = add_contact(s, x->id);
    lose_bytes(s, was);
    s->held += x->n > 0;
    s->bytes += x->n;
    *was = *x;
    was->sealed = sealed;
    return 0;
}

int contacts_put_all(struct contacts *s, const struct contacts *from)
{
    const struct contact *x;

    for (uint32_t i = 0; (x = contacts_next(from, &i)) != NULL;)
        if (contacts_put(s, x) < 0)
            return SQ_ENOMEM;
    return 0;
}

struct contact *contacts_find_known(const struct contacts *s, struct ticket_id id)
{
    uint32_t i = ticket_idx_find(&s->by_ticket, s->v, id);

    return i != TICKET_IDX_NONE ? &s->v[i] : NULL;
}

void contact_said(struct contacts *s, struct contact *x, uint8_t said)
{
    x->said |= said;
    if ((x->said & TURN_NOW) != 0)
        lose_bytes(s, x);
}

void contacts_del_known(struct contacts *s, struct ticket_id id)
{
    uint32_t i = ticket_idx_find(&s->by_ticket, s->v, id);

    if (i == TICKET_IDX_NONE)
        return;
    ticket_idx_del(&s->by_ticket, s->v, i);
    lose_bytes(s, &s->v[i]);
    s->v[i] = (struct contact){ .id.number = s->free };
    s->free = i + 1;
    if (--s->n == 0)
        contacts_fini(s);
}

struct contact *contacts_next(const struct contacts *s, uint32_t *i)
{
    while (*i < s->cap) {
        struct contact *x = &s->v[(*i)++];

        if (x->id.seg != 0)
            return x;
    }
    return NULL;
}
