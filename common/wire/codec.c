/* codec.c: one table from message types to the codec_*.c files, and what is the same for
 * all of them: packing, unpacking, limits, memory. Pure. */
#include "common/wire/codec.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "common/wire/codec_int.h"
#include "common/wire/frame.h"

#define PB_MAX_BYTES 512 /* the largest generated struct; asserted */

static const struct codec_row *row_of(unsigned type)
{
    static const struct codec_link *const links[] = {
        &codec_common,
        &codec_router_manager,
        &codec_segment_manager,
        &codec_segment_segment,
        &codec_why,
        &codec_directory,
    };

    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        if (type >= links[i]->first && type - links[i]->first < links[i]->n)
            return &links[i]->rows[type - links[i]->first];
    return NULL;
}

static int pack(const ProtobufCMessage *pb, struct buf *out)
{
    size_t n = protobuf_c_message_get_packed_size(pb);
    uint8_t *at;

    if (n > FRAME_MAX_BODY)
        return SQ_ETOOBIG;
    at = buf_reserve(out, n);
    if (at == NULL)
        return SQ_ENOMEM;
    out->len += protobuf_c_message_pack(pb, at);
    return 0;
}

int msg_encode(const struct msg *m, struct buf *out)
{
    const struct codec_row *row;
    alignas(max_align_t) char pb[PB_MAX_BYTES];
    struct arena tmp;
    int rc;

    if (codec_is_batch(m->type))
        return codec_batch_encode(m, out);
    row = row_of(m->type);
    if (row == NULL)
        return SQ_EUNKNOWN;
    assert(row->desc->sizeof_message <= sizeof(pb));
    arena_init(&tmp); /* takes memory only for messages with lists */
    protobuf_c_message_init(row->desc, pb);
    if (row->fill(m, pb, &tmp))
        rc = pack((const ProtobufCMessage *)pb, out);
    else
        rc = tmp.failed ? SQ_ENOMEM : SQ_ETOOBIG;
    arena_fini(&tmp);
    return rc;
}

static void *pb_alloc(void *ctx, size_t n)
{
    return arena_alloc(ctx, n);
}

static void pb_free(void *ctx, void *p)
{
    (void)ctx; /* the arena is given back as a whole */
    (void)p;
}

int msg_decode(uint16_t type, const uint8_t *body, size_t len, struct arena *a,
               struct msg *m)
{
    ProtobufCAllocator alloc = { pb_alloc, pb_free, a };
    const struct codec_row *row;
    const ProtobufCMessage *pb;

    memset(m, 0, sizeof(*m));
    m->type = type;
    if (len > FRAME_MAX_BODY)
        return SQ_EPROTO;
    if (codec_is_batch(type))
        return codec_batch_decode(body, len, a, m);
    row = row_of(type);
    if (row == NULL)
        return SQ_EUNKNOWN;
    pb = protobuf_c_message_unpack(row->desc, &alloc, len, body);
    if (pb != NULL && row->take(pb, a, m))
        return 0;
    return a->failed ? SQ_ENOMEM : SQ_EPROTO;
}

bool codec_put_text(ProtobufCBinaryData *d, const char *s, size_t max)
{
    d->data = (uint8_t *)(uintptr_t)s; /* protobuf-c only reads it */
    d->len = s != NULL ? strlen(s) : 0;
    return d->len <= max;
}

bool codec_put_words(ProtobufCBinaryData *d, const char *s, size_t max)
{
    if (!codec_put_text(d, s, max))
        d->len = max;
    return true;
}

bool codec_get_text(const ProtobufCBinaryData *d, size_t max, struct arena *a,
                    const char **out)
{
    if (d->len > max || (d->len > 0 && memchr(d->data, 0, d->len) != NULL))
        return false;
    *out = d->len > 0 ? arena_strndup(a, (const char *)d->data, d->len) : "";
    return *out != NULL;
}

void *codec_subs(const ProtobufCMessageDescriptor *desc, size_t n, struct arena *a)
{
    ProtobufCMessage **v = arena_array(a, n, sizeof(*v));
    size_t step = (desc->sizeof_message + 15) & ~(size_t)15;
    char *mem = arena_array(a, n, step);

    if (v == NULL || mem == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        v[i] = (ProtobufCMessage *)(mem + i * step);
        protobuf_c_message_init(desc, v[i]);
    }
    return v;
}
