/* body.c: the shell keeps bytes by a reference; forms of results; bodies leave files that are
 * mostly dead. */
#include "task/node/body.h"

#include <string.h>

#include "common/task/sha256.h"
#include "task/engine/change.h"
#include "task/node/parts.h"

#define COPY_SLOTS  65536u /* tasks looked at in a step */
#define COPY_BODIES 1000u  /* copied */

/* ---- bodies ------------------------------------------------------------------------ */

int tasktab_body_put(struct tasktab *t, const struct part *p, const struct bytes_of *body,
                     uint64_t *ref)
{
    const struct tab_bodies *b = &t->o.bodies;

    *ref = 0;
    if (body->n == 0)
        return 0;
    if (t->o.shared != NULL)
        return t->o.shared->put(t->o.shared_ctx, p->no, body->p, body->n, ref);
    return b->put(b->ctx, body->p, body->n, ref);
}

void tasktab_body_drop(struct tasktab *t, const struct part *p, uint64_t ref)
{
    if (ref == 0)
        return;
    if (t->o.shared != NULL)
        t->o.shared->drop(t->o.shared_ctx, p->no, ref);
    else
        t->o.bodies.drop(t->o.bodies.ctx, ref);
}

static bool load_later(struct tasktab *t, const struct part *p, uint64_t ref, struct bytes_of *to,
                       struct arena *mem)
{
    const struct tab_shared *s = t->o.shared;
    uint32_t n = s->bytes(ref);
    uint8_t *room = arena_alloc(mem, n);

    if (room == NULL || s->want(t->o.shared_ctx, p->no, ref, room) < 0)
        return false;
    *to = (struct bytes_of){ n, room };
    return true;
}

bool tasktab_body_load(struct tasktab *t, const struct part *p, uint64_t ref, struct bytes_of *to,
                       struct arena *mem)
{
    int rc;

    *to = (struct bytes_of){ 0 };
    if (ref == 0)
        return true;
    if (t->o.shared != NULL)
        return load_later(t, p, ref, to, mem);
    buf_reset(&t->bytes);
    rc = t->o.bodies.get(t->o.bodies.ctx, ref, &t->bytes);
    t->n.lost_bodies += rc == SQ_EPROTO;
    if (rc < 0 || t->bytes.failed)
        return false;
    to->n = (uint32_t)t->bytes.len;
    to->p = arena_memdup(mem, t->bytes.data, t->bytes.len);
    return to->p != NULL;
}

/* ---- copies: a walk over all tasks, some in each step ------------------------------- */

typedef int (*moved)(struct engine *e, task_no no, uint64_t to);

/* How many bodies were copied: of one that is old, unless there is no room, or no memory now. */
static uint32_t copy_one(struct tasktab *t, struct part *p, task_slot slot, uint64_t ref, moved say)
{
    const struct tab_bodies *b = &t->o.bodies;
    uint64_t to;
    int rc;

    if (ref == 0 || !b->is_old(b->ctx, ref))
        return 0;
    rc = b->copy(b->ctx, ref, &to);
    if (rc < 0)
        return 0; /* unreadable bodies stay where they are */
    tasktab_clock(t, p);
    rc = say(&p->e, task_number(&p->e.store, slot), to);
    if (rc < 0)
        b->drop(b->ctx, to);
    return 1;
}

static uint32_t copy_of(struct tasktab *t, struct part *p, task_slot slot)
{
    const struct task *k = task_at(&p->e.store, slot);
    uint32_t n = k->state != TASK_FREE ? copy_one(t, p, slot, k->body, engine_moved) : 0;

    return n + copy_one(t, p, slot, replies_of(&p->e.replies, slot), engine_moved_reply);
}

void tasktab_copy_bodies(struct tasktab *t, struct task_now now)
{
    uint32_t looked = 0, copied = 0, ends = 0;

    t->now = now;
    while (!t->hold && ends <= t->n_parts && looked < COPY_SLOTS && copied < COPY_BODIES) {
        struct part *p = t->copy_part < t->n_parts ? t->part[t->copy_part] : NULL;

        if (p == NULL || p->life != PART_OWNED || t->copy_slot >= p->e.store.n_slots) {
            t->copy_part = p != NULL ? t->copy_part + 1 : 0;
            t->copy_slot = 0;
            ends++;
            continue;
        }
        copied += copy_of(t, p, t->copy_slot++);
        looked++;
    }
}

/* ---- results ----------------------------------------------------------------------- */

/* Form 1, cut: length, 8 bytes, the lowest first | SHA-256 | bytes. Form 2: whole. Nodes
 * before form 2 wrote form 1 of whole ones, too. */
enum { FORM_CUT = 1, FORM_WHOLE = 2 };

_Static_assert(SHA256_BYTES == RESULT_SHA256, "SHA-256");
_Static_assert(RESULT_HEAD_CUT + TASK_RESULT_MAX <= TASK_BODY_MAX, "a body has room for a result");

void result_pack(const uint8_t *p, uint32_t n, uint64_t most, struct buf *out)
{
    uint8_t sha256[RESULT_SHA256];

    if (n > most) {
        sha256_of(sha256, p, n);
        result_pack_cut(p, (uint32_t)most, n, sha256, out);
        return;
    }
    buf_byte(out, FORM_WHOLE);
    buf_append(out, p, n);
}

void result_pack_cut(const uint8_t *p, uint32_t n, uint64_t length,
                     const uint8_t sha256[RESULT_SHA256], struct buf *out)
{
    uint8_t head[RESULT_HEAD_CUT] = { FORM_CUT };

    for (unsigned i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)(length >> 8 * i);
    memcpy(head + 9, sha256, RESULT_SHA256);
    buf_append(out, head, sizeof(head));
    buf_append(out, p, n);
}

static int unpack_cut(const uint8_t *p, struct result *r)
{
    for (unsigned i = 0; i < 8; i++)
        r->length |= (uint64_t)p[1 + i] << 8 * i;
    memcpy(r->sha256, p + 9, RESULT_SHA256);
    return r->length >= r->n ? 0 : SQ_EPROTO;
}

int result_unpack(const uint8_t *p, size_t n, struct result *r)
{
    bool whole = n > 0 && p[0] == FORM_WHOLE;
    size_t head = whole ? RESULT_HEAD_WHOLE : RESULT_HEAD_CUT;

    if (n < head || n - head > TASK_RESULT_MAX || (!whole && p[0] != FORM_CUT))
        return SQ_EPROTO;
    *r = (struct result){ .p = p + head, .n = (uint32_t)(n - head) };
    if (!whole)
        return unpack_cut(p, r);
    r->length = r->n;
    sha256_of(r->sha256, r->p, r->n);
    return 0;
}

/* ---- what a link is told, in portions --------------------------------------------------- */

struct tpeer *tasktab_peer(const struct tasktab *t, peer_no no)
{
    each_tpeer (t, p) {
        if (p->no == no)
            return p;
    }
    return NULL;
}

static uint64_t on_its_way(const struct tpeer *p)
{
    return p->said - p->handed + p->unsent;
}

bool tasktab_may_let_go(const struct tpeer *p)
{
    return (p->owed.n > 0 || p->held.n > 0) && on_its_way(p) + p->lent < LINK_PORTION;
}

bool tasktab_has_room(struct tpeer *p)
{
    bool has = p == NULL || on_its_way(p) < LINK_PORTION;

    if (!has)
        p->wanted = true;
    return has;
}

void tasktab_weigh(struct tpeer *p, size_t bytes, struct outbox *out)
{
    if (p == NULL || out->failed) /* then it may not be there */
        return;
    p->said += bytes;
    outbox_weigh(out, bytes);
}

void tasktab_hold_call(struct tpeer *p, struct going_call *g)
{
    g->held = &p->held;
    list_push_back(&p->held, &g->in_held);
}

void tasktab_unhold(struct going_call *g)
{
    if (g->held != NULL)
        list_remove(g->held, &g->in_held);
    g->held = NULL;
}

void tasktab_unhold_all(struct tpeer *p)
{
    list_each_of (&p->held, struct going_call, in_held, g)
        tasktab_unhold(g);
}

bool tasktab_wants_room(const struct tasktab *t, peer_no no)
{
    const struct tpeer *p = tasktab_peer(t, no);

    return p != NULL && p->wanted;
}

void tasktab_link(struct tasktab *t, struct task_now now, peer_no no, uint64_t handed, size_t unsent)
{
    struct tpeer *p = tasktab_peer(t, no);

    if (p == NULL)
        return;
    p->handed = handed;
    p->unsent = unsent;
    p->lent = 0;
    if (!p->wanted || on_its_way(p) >= LINK_PORTION)
        return;
    p->wanted = false;
    each_part (t, x) /* takes that wait are looked at in this turn; behind a hold, when it is over */
        if (x->life == PART_OWNED)
            x->due = ms_min(x->due, now.ms);
}

void tasktab_answer_head(struct msg_task_piece *m, const struct call_answer *a, struct arena *mem)
{
    m->status = a->status;
    m->content_type = arena_strdup(mem, a->type);
    m->fields = (struct bytes_of){ (uint32_t)a->fields.n, arena_memdup(mem, a->fields.p, a->fields.n) };
    m->fields_cut = a->fields_cut || m->fields.p == NULL;
    m->sized = a->sized;
    m->length = a->says;
    if (m->content_type == NULL)
        m->content_type = "";
    if (m->fields.p == NULL)
        m->fields.n = 0;
}
