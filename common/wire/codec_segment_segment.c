/* codec_segment_segment.c: proto/segment_segment.proto: the copy of a move. */
#include "common/wire/codec_segment_segment.h"

#include <string.h>

#include "proto/segment_segment.pb-c.h"

#define LEFT_MAX 127 /* idle units */

/* ---- COPY_CHUNK ------------------------------------------------------------------ */

static bool fill_block(Segq__CopyBlock *p, const struct copy_block *s)
{
    p->index = s->index;
    p->n_alive = ARRAY_LEN(s->alive);
    p->alive = (uint64_t *)(uintptr_t)s->alive; /* only read */
    p->left.len = s->n_left;
    p->left.data = (uint8_t *)(uintptr_t)s->left;
    return true;
}

static bool take_block(struct copy_block *s, const Segq__CopyBlock *p)
{
    unsigned alive = 0;

    if (p->n_alive != ARRAY_LEN(s->alive))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(s->alive); i++) {
        s->alive[i] = p->alive[i];
        alive += (unsigned)__builtin_popcountll(p->alive[i]);
    }
    if (p->left.len != alive)
        return false;
    for (size_t i = 0; i < p->left.len; i++)
        if (p->left.data[i] > LEFT_MAX)
            return false;
    s->index = p->index;
    s->n_left = (uint16_t)p->left.len;
    s->left = p->left.data;
    return true;
}

bool codec_fill_copy_chunk(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_copy_chunk *s = &m->copy_chunk;
    Segq__CopyChunk *p = pb;

    if (s->n > MSG_COPY_BLOCKS)
        return false;
    p->move = s->move;
    p->seq = s->seq;
    p->n_v = s->n;
    p->v = codec_subs(&segq__copy_block__descriptor, s->n, a);
    if (p->v == NULL)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        fill_block(p->v[i], &s->v[i]);
    return true;
}

bool codec_take_copy_chunk(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__CopyChunk *p = pb;
    struct msg_copy_chunk *s = &m->copy_chunk;

    if (p->n_v > MSG_COPY_BLOCKS)
        return false;
    s->move = p->move;
    s->seq = p->seq;
    s->n = p->n_v;
    ROWS_GET(s->v, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        if (!take_block(&s->v[i], p->v[i]))
            return false;
    return true;
}

/* ---- COPY_TOUCH ------------------------------------------------------------------ */

bool codec_fill_copy_touch(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_copy_touch *s = &m->copy_touch;
    Segq__CopyTouch *p = pb;

    p->move = s->move;
    p->seq = s->seq;
    COL_PUT(number, s->v, s->n, number);
    COL_PUT_BYTES(alive, s->v, s->n, alive);
    COL_PUT_BYTES(left, s->v, s->n, left);
    return true;
}

bool codec_take_copy_touch(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__CopyTouch *p = pb;
    struct msg_copy_touch *s = &m->copy_touch;

    s->move = p->move;
    s->seq = p->seq;
    s->n = p->n_number;
    ROWS_GET(s->v, s->n);
    COL_GET(number, s->v, s->n, number);
    COL_GET_BYTES(alive, s->v, s->n, alive);
    COL_GET_BYTES(left, s->v, s->n, left);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].alive > 1 || s->v[i].left > LEFT_MAX)
            return false;
    return true;
}

/* ---- COPY_EXTRA ------------------------------------------------------------------ */

static bool fill_sessions(const struct msg_copy_extra *s, Segq__CopyExtra *p, struct arena *a)
{
    COL_PUT(session_seg, s->sessions, s->n_sessions, seg);
    COL_PUT(session_number, s->sessions, s->n_sessions, number);
    COL_PUT_BYTES(session_state, s->sessions, s->n_sessions, state);
    COL_PUT_BYTES(session_client, s->sessions, s->n_sessions, client);
    COL_PUT(session_released_at_ms, s->sessions, s->n_sessions, released_at_ms);
    COL_PUT(session_left_ms, s->sessions, s->n_sessions, left_ms);
    COL_PUT_BYTES(session_reason, s->sessions, s->n_sessions, reason);
    COL_PUT(session_until_s, s->sessions, s->n_sessions, until_s);
    return true;
}

static bool take_sessions(const Segq__CopyExtra *p, struct arena *a, struct msg_copy_extra *s)
{
    s->n_sessions = p->n_session_seg;
    ROWS_GET(s->sessions, s->n_sessions);
    COL_GET(session_seg, s->sessions, s->n_sessions, seg);
    COL_GET(session_number, s->sessions, s->n_sessions, number);
    COL_GET_BYTES(session_state, s->sessions, s->n_sessions, state);
    COL_GET_BYTES(session_client, s->sessions, s->n_sessions, client);
    COL_GET(session_released_at_ms, s->sessions, s->n_sessions, released_at_ms);
    COL_GET(session_left_ms, s->sessions, s->n_sessions, left_ms);
    COL_GET_BYTES(session_reason, s->sessions, s->n_sessions, reason);
    COL_GET(session_until_s, s->sessions, s->n_sessions, until_s);
    for (uint32_t i = 0; i < s->n_sessions; i++)
        if (s->sessions[i].client >= CLIENT_NCLASSES)
            return false;
    return true;
}

static size_t reloc_words(uint32_t bits)
{
    return ((size_t)bits + 63) / 64;
}

static bool fill_relocs(const struct msg_copy_extra *s, Segq__CopyExtra *p, struct arena *a)
{
    p->n_relocs = s->n_relocs;
    p->relocs = codec_subs(&segq__copy_reloc__descriptor, s->n_relocs, a);
    if (p->relocs == NULL)
        return false;
    for (uint32_t i = 0; i < s->n_relocs; i++) {
        p->relocs[i]->seg = s->relocs[i].seg;
        p->relocs[i]->start = s->relocs[i].base;
        p->relocs[i]->bits = s->relocs[i].bits;
        p->relocs[i]->n_alive = s->relocs[i].n_words;
        p->relocs[i]->alive = (uint64_t *)(uintptr_t)s->relocs[i].alive; /* only read */
    }
    return true;
}

static bool take_relocs(const Segq__CopyExtra *p, struct arena *a, struct msg_copy_extra *s)
{
    s->n_relocs = p->n_relocs;
    ROWS_GET(s->relocs, s->n_relocs);
    for (uint32_t i = 0; i < s->n_relocs; i++) {
        if (p->relocs[i]->n_alive != reloc_words(p->relocs[i]->bits))
            return false;
        s->relocs[i].seg = p->relocs[i]->seg;
        s->relocs[i].base = p->relocs[i]->start;
        s->relocs[i].bits = p->relocs[i]->bits;
        s->relocs[i].n_words = p->relocs[i]->n_alive;
        s->relocs[i].alive = p->relocs[i]->alive;
    }
    return true;
}

static bool fill_subjects(const struct msg_copy_extra *s, Segq__CopyExtra *p, struct arena *a)
{
    COL_PUT(subject_seg, s->subjects, s->n_subjects, seg);
    COL_PUT(subject_number, s->subjects, s->n_subjects, number);
    COL_PUT(subject_issued_s, s->subjects, s->n_subjects, issued_s);
    COL_PUT_BYTES(subject_client, s->subjects, s->n_subjects, client);
    COL_PUT(subject_hash, s->subjects, s->n_subjects, hash);
    p->n_subject_text = s->n_subjects;
    p->subject_text = arena_array(a, s->n_subjects, sizeof(*p->subject_text));
    if (p->subject_text == NULL)
        return false;
    for (uint32_t i = 0; i < s->n_subjects; i++) {
        if (s->subjects[i].len > SUBJECT_MAX_LEN)
            return false;
        p->subject_text[i].len = s->subjects[i].len;
        p->subject_text[i].data = (uint8_t *)(uintptr_t)s->subjects[i].text;
    }
    return true;
}

static bool take_subjects(const Segq__CopyExtra *p, struct arena *a, struct msg_copy_extra *s)
{
    s->n_subjects = p->n_subject_seg;
    if (p->n_subject_text != s->n_subjects)
        return false;
    ROWS_GET(s->subjects, s->n_subjects);
    COL_GET(subject_seg, s->subjects, s->n_subjects, seg);
    COL_GET(subject_number, s->subjects, s->n_subjects, number);
    COL_GET(subject_issued_s, s->subjects, s->n_subjects, issued_s);
    COL_GET_BYTES(subject_client, s->subjects, s->n_subjects, client);
    COL_GET(subject_hash, s->subjects, s->n_subjects, hash);
    for (uint32_t i = 0; i < s->n_subjects; i++) {
        const ProtobufCBinaryData *text = &p->subject_text[i];

        if (text->len > SUBJECT_MAX_LEN || s->subjects[i].client >= CLIENT_NCLASSES)
            return false;
        s->subjects[i].len = (uint8_t)text->len;
        s->subjects[i].text = (const char *)text->data;
    }
    return true;
}

bool codec_fill_copy_extra(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_copy_extra *s = &m->copy_extra;
    Segq__CopyExtra *p = pb;

    p->move = s->move;
    p->seq = s->seq;
    return fill_sessions(s, p, a) && fill_relocs(s, p, a) && fill_subjects(s, p, a);
}

bool codec_take_copy_extra(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__CopyExtra *p = pb;
    struct msg_copy_extra *s = &m->copy_extra;

    s->move = p->move;
    s->seq = p->seq;
    return take_sessions(p, a, s) && take_relocs(p, a, s) && take_subjects(p, a, s);
}
