/* audit_line.c: an event's members, one after another. */
#include "segment/audit/audit_line.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "common/trail/trail_files.h"

const char *audit_kind_name(enum audit_kind k)
{
    static const char *const name[] = {
#define X(name, word, why) word,
        AUDIT_EVENTS(X)
#undef X
    };

    return (unsigned)k < AUDIT_NKINDS ? name[k] : "?";
}

static const char *kind_why(enum audit_kind k)
{
    static const char *const why[] = {
#define X(name, word, why) why,
        AUDIT_EVENTS(X)
#undef X
    };

    return (unsigned)k < AUDIT_NKINDS ? why[k] : NULL;
}

/* ---- members --------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void put_str(struct jline *o, const char *key,
                            const char *s)
{
    if (s != NULL)
        jline_text(o, key, s, strnlen(s, NAME_MAX_LEN));
}

static void put_ticket(struct jline *o, struct ticket_id id)
{
    if (id.seg == 0)
        return;
    jline_name(o, "ticket");
    *o->p++ = '"';
    o->p = text_u64(o->p, id.seg);
    *o->p++ = '-';
    o->p = text_u64(o->p, id.number);
    *o->p++ = '"';
}

static void put_hash(struct jline *o, uint64_t h)
{
    jline_name(o, "subject_hash");
    *o->p++ = '"';
    o->p = hex_put(o->p, h);
    *o->p++ = '"';
}

static void put_subject(struct jline *o, const struct audit_event *e, enum audit_subject how)
{
    if (e->subject_len == 0 || how == AUDIT_SUBJECT_NONE)
        return;
    if (how == AUDIT_SUBJECT_HASH) {
        put_hash(o, e->subject_hash);
        return;
    }
    jline_text(o, "subject", e->subject, e->subject_len);
}

static void put_release(struct jline *o, const struct audit_event *e)
{
    if (e->tick != 0)
        jline_u64(o, "tick", e->tick);
    if (e->again) {
        jline_name(o, "again");
        jline_raw(o, "true", 4);
    }
    if (e->released_ms > 0)
        jline_moment(o, "released_at", e->released_ms);
    if (e->expires_s > 0)
        jline_moment(o, "expires_at", e->expires_s * 1000);
}

static void put_counts(struct jline *o, const struct audit_event *e)
{
    if (e->from != 0)
        jline_u64(o, "from", e->from);
    if (e->has_n)
        jline_u64(o, "n", e->n);
    if (e->n_released != 0)
        jline_u64(o, "n_released", e->n_released);
    if (e->since_ms > 0)
        jline_moment(o, "since", e->since_ms);
}

size_t audit_line(const struct audit_event *e, const char *node, enum audit_subject how,
                  char *out)
{
    struct jline o = { .p = out };

    jline_moment(&o, "time", e->wall_ms);
    put_str(&o, "event", audit_kind_name(e->kind));
    put_str(&o, "why", e->why != NULL ? e->why : kind_why(e->kind));
    put_ticket(&o, e->id);
    put_str(&o, "queue", e->queue);
    put_str(&o, "lane", e->lane);
    if (e->segment != 0)
        jline_u64(&o, "segment", e->segment);
    put_str(&o, "node", node);
    put_str(&o, "state", e->state);
    put_str(&o, "client", e->client);
    put_subject(&o, e, how);
    put_release(&o, e);
    put_counts(&o, e);
    jline_end(&o);
    assert(o.p - out <= AUDIT_LINE_MAX);
    return (size_t)(o.p - out);
}
