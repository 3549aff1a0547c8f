/* codec_directory.c: proto/directory.proto: the directory of subjects. */
#include "common/wire/codec_directory.h"

#include <string.h>

#include "proto/directory.pb-c.h"

/* ---- MEMBERS --------------------------------------------------------------------- */

bool codec_fill_members(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_members *s = &m->members;
    Segq__Members *p = pb;
    bool ok = s->n <= MSG_MEMBERS_MAX;

    if (!ok)
        return false;
    p->epoch = s->epoch;
    p->version = s->version;
    p->self = s->self;
    COL_PUT(no, s->v, s->n, no);
    p->n_name = p->n_addr = s->n;
    p->name = arena_array(a, s->n, sizeof(*p->name));
    p->addr = arena_array(a, s->n, sizeof(*p->addr));
    if (p->name == NULL || p->addr == NULL)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        ok = codec_put_text(&p->name[i], s->v[i].name, NAME_MAX_LEN) &&
             codec_put_text(&p->addr[i], s->v[i].addr, CODEC_ADDR_MAX) && ok;
    return ok;
}

bool codec_take_members(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__Members *p = pb;
    struct msg_members *s = &m->members;
    bool ok = p->n_no <= MSG_MEMBERS_MAX && p->n_name == p->n_no && p->n_addr == p->n_no;

    if (!ok)
        return false;
    s->epoch = p->epoch;
    s->version = p->version;
    s->self = p->self;
    s->n = (uint32_t)p->n_no;
    ROWS_GET(s->v, s->n);
    COL_GET(no, s->v, s->n, no);
    for (uint32_t i = 0; i < s->n; i++)
        ok = codec_get_text(&p->name[i], NAME_MAX_LEN, a, &s->v[i].name) &&
             codec_get_text(&p->addr[i], CODEC_ADDR_MAX, a, &s->v[i].addr) && ok;
    return ok;
}

/* ---- DIR, DIR_ANS: the same shape, two types ---------------------------------------- */

static bool are_rows(const struct dir_row *v, uint32_t n, unsigned n_whats)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i].what >= n_whats || v[i].client >= CLIENT_NCLASSES)
            return false;
    return true;
}

#define DIR_CODEC(name, Pb, n_whats)                                                     \
    bool codec_fill_##name(const struct msg *m, void *pb, struct arena *a)               \
    {                                                                                    \
        const struct msg_##name *s = &m->name;                                           \
        Pb *p = pb;                                                                      \
                                                                                         \
        if (s->n > MSG_DIR_ROWS_MAX)                                                     \
            return false;                                                                \
        p->version = s->version;                                                         \
        COL_PUT_BYTES(what, s->v, s->n, what);                                           \
        COL_PUT(hash, s->v, s->n, hash);                                                 \
        COL_PUT(seg, s->v, s->n, seg);                                                   \
        COL_PUT(number, s->v, s->n, number);                                             \
        COL_PUT(issued_s, s->v, s->n, issued_s);                                         \
        COL_PUT_BYTES(client, s->v, s->n, client);                                       \
        return true;                                                                     \
    }                                                                                    \
    bool codec_take_##name(const void *pb, struct arena *a, struct msg *m)               \
    {                                                                                    \
        const Pb *p = pb;                                                                \
        struct msg_##name *s = &m->name;                                                 \
                                                                                         \
        if (p->what.len > MSG_DIR_ROWS_MAX)                                              \
            return false;                                                                \
        s->version = p->version;                                                         \
        s->n = (uint32_t)p->what.len;                                                    \
        ROWS_GET(s->v, s->n);                                                            \
        COL_GET_BYTES(what, s->v, s->n, what);                                           \
        COL_GET(hash, s->v, s->n, hash);                                                 \
        COL_GET(seg, s->v, s->n, seg);                                                   \
        COL_GET(number, s->v, s->n, number);                                             \
        COL_GET(issued_s, s->v, s->n, issued_s);                                         \
        COL_GET_BYTES(client, s->v, s->n, client);                                       \
        return are_rows(s->v, s->n, n_whats);                                            \
    }

DIR_CODEC(dir, Segq__Dir, DIR_NASKS)
DIR_CODEC(dir_ans, Segq__DirAns, DIR_NWORDS)
