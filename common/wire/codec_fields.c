/* codec_fields.c: texts and parts of generated messages. */
#include "common/wire/codec_fields.h"

#include <assert.h>
#include <string.h>

bool codec_put_text(ProtobufCBinaryData *d, const char *s, size_t max)
{
    assert(max > 0);
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

bool codec_in(uint64_t v, uint64_t lo, uint64_t hi)
{
    return v >= lo && v <= hi;
}

void *codec_subs(const ProtobufCMessageDescriptor *desc, size_t n, struct arena *a)
{
    ProtobufCMessage **v = arena_array(a, n, sizeof(*v));
    size_t step = (desc->sizeof_message + 15) & ~(size_t)15;
    char *mem = arena_array(a, n, step);

    assert(step >= desc->sizeof_message);
    if (v == NULL || mem == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        v[i] = (ProtobufCMessage *)(mem + i * step);
        protobuf_c_message_init(desc, v[i]);
    }
    return v;
}
