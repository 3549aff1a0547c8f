/* fuzz_journal.c: recovery of any bytes. Whatever stands in the files, opening answers or
 * refuses; what it took it takes again, the same, the next time; and the journal works.
 *
 * Input: files, each: name (0 log 1, 1 log 2, 2 snapshot 2, 3 log 3; + 128: as it is), a
 * length (2 bytes, little endian), bytes. The sums of heads and groups are set right
 * unless "as it is", so that the fuzzer gets behind them. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/versions.h"
#include "common/journal/check.h"
#include "common/journal/disk.h"
#include "common/journal/format.h"
#include "common/journal/turn.h"
#include "tests/lib/sim/disk.c" /* fuzz programs link no simulation */
#include "tests/lib/quiet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen { /* a digest of what was replayed */
    uint64_t sum, n;
};

static int note(struct seen *s, uint8_t type, const uint8_t *p, size_t n)
{
    s->sum = s->sum * 31 + type;
    s->n++;
    for (size_t i = 0; i < n; i++)
        s->sum = s->sum * 31 + p[i];
    return 0;
}

static int on_record(void *ctx, uint8_t type, const uint8_t *p, size_t n, struct err *e)
{
    (void)e;
    return note(ctx, type, p, n);
}

static int on_chunk(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
    (void)e;
    return note(ctx, 0, p, n);
}

/* The head as it would be, with the input's flags; then groups wherever one fits. */
static void set_right(uint8_t *p, size_t n, enum jkind kind, uint64_t seq)
{
    struct jhead h = { .version = JOURNAL_FORMAT, .kind = kind, .seq = seq, .node = "fuzz" };
    struct jkey key;
    size_t at = JHEAD_BYTES;

    if (n < JHEAD_BYTES)
        return;
    h.flags = p[40];
    jhead_build(p, &h);
    jkey_make(&key, h.node, kind, seq);
    while (n - at >= JGROUP_BYTES) {
        uint32_t len = le32_get(p + at + 24) % 512, word = le32_get(p + at + 28);

        if (len > n - at - JGROUP_BYTES)
            return;
        jgroup_seal(p + at, &key, at, le64_get(p + at + 16), len, word >> 8 & 63,
                    (enum jgroup_kind)(word & 3));
        at += JGROUP_BYTES + len;
    }
}

static size_t add_file(struct simdisk *s, const uint8_t *p, size_t n)
{
    static const struct jname names[] = { { JNAME_LOG, 1 }, { JNAME_LOG, 2 },
                                          { JNAME_SNAP, 2 }, { JNAME_LOG, 3 } };
    size_t len = (size_t)(p[1] | p[2] << 8);
    const struct jname *which = &names[p[0] & 3];
    char name[JNAME_MAX];
    uint8_t *copy;

    len = len < n - 3 ? len : n - 3;
    copy = malloc(len + 1);
    must(copy != NULL, "out of memory");
    memcpy(copy, p + 3, len);
    if ((p[0] & 128) == 0)
        set_right(copy, len, which->kind == JNAME_LOG ? JLOG : JSNAP, which->seq);
    jname_text(name, which->kind, which->seq);
    simdisk_put(s, name, copy, len);
    free(copy);
    return 3 + len;
}

static int open_once(struct simdisk *s, bool allow, struct seen *seen, struct journal **j)
{
    struct journal_opts o = { .dir = "fuzz", .disk = simdisk_disk(s), .node = "fuzz",
                              .format = JOURNAL_FORMAT,
                              .mode = JOURNAL_FSYNC, .allow_damage = allow };
    struct journal_replay to = { on_chunk, on_record, seen };
    struct err e = { 0 };

    return journal_open(j, &o, &to, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct simdisk *s = simdisk_new(1);
    struct seen first = { 0 }, again = { 0 };
    static FILE *nowhere;
    struct journal *j;
    bool allow;

    quiet_log();
    if (nowhere == NULL)
        nowhere = fopen("/dev/null", "w");
    allow = size > 0 && (data[0] & 64) != 0;
    while (size > 3) {
        size_t n = add_file(s, data, size);

        data += n;
        size -= n;
    }
    (void)journal_check_disk(simdisk_disk(s), JOURNAL_FORMAT, NULL, nowhere);
    if (open_once(s, allow, &first, &j) == 0) {
        journal_append(j, 7, "more", 4);
        must(journal_flush(j, NULL) == 0, "a recovered journal writes");
        journal_close(j);
        simdisk_kill(s);
        note(&first, 7, (const uint8_t *)"more", 4);
        if (!allow) { /* what was skipped may look otherwise afterwards */
            must(open_once(s, false, &again, &j) == 0, "opens again");
            must(first.sum == again.sum && first.n == again.n, "gives the same");
            journal_close(j);
        }
    }
    simdisk_free(s);
    return 0;
}
