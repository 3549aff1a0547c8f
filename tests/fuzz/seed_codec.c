/* seed_codec.c: writes the seed corpus of fuzz_codec: one small message of every type.
 *   seed_codec DIR */
#include <stdio.h>
#include <stdlib.h>

#include "common/wire/codec.h"
#include "tests/unit/common/codec_gen.h"

static int write_one(const char *dir, const struct msg *m, const struct buf *b)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, msg_name(m->type));
    f = fopen(path, "wb");
    if (f == NULL)
        return 1;
    fputc(m->type & 0xff, f);
    fputc(m->type >> 8, f);
    fwrite(b->data, 1, b->len, f);
    return fclose(f) != 0;
}

int main(int argc, char **argv)
{
    static const uint16_t types[] = {
#define X(name, number, ...) number,
        MSG_TYPES(X)
#undef X
    };
    struct gen g = { .max_rows = 2 };
    struct buf b;
    int rc = argc != 2;

    rng_seed(&g.r, 5);
    buf_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(types) && rc == 0; i++) {
        struct msg m;

        if (types[i] < MSG_ERROR)
            continue; /* the hello is not protobuf */
        gen_msg(&g, types[i], &m);
        buf_reset(&b);
        rc = msg_encode(&m, &b) < 0 || write_one(argv[1], &m, &b);
    }
    buf_fini(&b);
    arena_fini(&g.a);
    return rc;
}
