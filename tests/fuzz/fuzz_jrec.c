/* fuzz_jrec.c: records of a journal that nobody wrote: decoding reads nothing that is not
 * there, what is decoded is encoded to the same, and a replay refuses what cannot be or
 * gives a table that can be used: asked, ticked, written down again.
 * Input: kind, length (one byte), bytes; again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/core/jrec.h"
#include "segment/node/segtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static int make_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    return snprintf(out, MSG_PASS_MAX, "%s/%s/%llu-%u", p->queue, p->lane,
                    (unsigned long long)p->seg, p->number);
}

static void same(const struct jrec *r, const uint8_t *p, size_t n)
{
    struct buf b;
    struct jrec again;

    buf_init(&b);
    jrec_encode(r, &b);
    must(!b.failed && b.len <= n); /* a number may have been written longer than need be */
    must(jrec_decode(r->kind, b.data, b.len, &again) == (int64_t)b.len);
    (void)p;
    buf_fini(&b);
}

/* Memory is what a record may cost, within reason: a real journal cannot be so short and
 * have so many. */
static bool is_small(const struct jrec *r)
{
    switch ((enum jrec_kind)r->kind) {
    case JREC_JOIN:
    case JREC_ASIDE:
    case JREC_FREED_BLOCKS:
        return r->run.n <= 4096;
    case JREC_ABSORBED:
        return r->set.n <= 4096;
    case JREC_RELOC:
        return r->reloc.bits <= 1u << 16;
    case JREC_SEG:
        return r->segment.end <= 1u << 16;
    default:
        return true;
    }
}

static int replay(struct segtab *t, const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n > 0 ? n : 1); /* the sanitizer sees a read behind its end */
    struct jrec r;
    int64_t used;
    int rc;

    memcpy(copy, p + 2, n);
    used = jrec_decode(p[0], copy, n, &r);
    must(used <= (int64_t)n);
    rc = used < 0 ? -1 : 0;
    if (used >= 0)
        same(&r, copy, (size_t)used);
    if (used >= 0)
        rc = is_small(&r) ? segtab_replay(t, &r) : -1;
    free(copy);
    return rc;
}

static void on_snap(void *ctx, const struct jrec *r)
{
    must(r->kind != 0);
    ++*(unsigned *)ctx;
}

static void use(struct segtab *t)
{
    struct seg_now now = { 5000, 1700000005000 };
    struct segtab_in in = { .now = now, .kind = SEGTAB_TICK };
    struct outbox out;
    struct arena mem;
    unsigned n = 0;

    outbox_init(&out);
    arena_init(&mem);
    for (seg_id seg = 1; seg < 6; seg++) {
        struct place_req q = { .seg = seg, .number = (uint32_t)seg };
        struct append_req join = { .seg = seg };
        struct drop_req drop = { .seg = seg, .number = 0 };
        struct place_ans a;
        struct append_ans b;
        struct drop_ans c;

        segtab_place(t, now, &q, 1, &a, &mem);
        segtab_append(t, now, &join, 1, &b, &mem);
        segtab_drop(t, now, &drop, 1, &c);
    }
    segtab_step(t, &in, &out);
    for (bool more = true, begin = true; more; begin = false)
        more = segtab_snapshot(t, begin, 1, on_snap, &n);
    must(n > 0);
    (void)segtab_digest(t);
    outbox_fini(&out);
    arena_fini(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segtab_opts o = { .max_tickets = 1u << 18, .max_segments = 100, .addr = "",
                             .admin = "", .make_pass = make_pass };
    struct segtab *t;
    bool good = true;

    log_set_level(LOG_ERROR);
    t = segtab_new(&o);
    while (good && size >= 2 && size - 2 >= data[1]) {
        size_t n = data[1];

        good = replay(t, data, n) == 0;
        data += 2 + n;
        size -= 2 + n;
    }
    if (good && segtab_replayed(t, (struct seg_now) { 1000, 1700000000000 }) == 0)
        use(t);
    segtab_free(t);
    return 0;
}
