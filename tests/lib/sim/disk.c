/* disk.c: see the header. */
#include "tests/lib/sim/disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"

#define SECTOR  512u
#define HANDLES 64
#define NAMES   256
#define OPS     256

struct inode {
    struct inode *next; /* owned by the disk */
    uint8_t *now, *safe, *dirty; /* owned, cap bytes each; dirty: one byte a sector */
    size_t now_len, safe_len, low_len, cap; /* low_len: shortest since the last sync */
    uint64_t alloc;
    bool used; /* mark of the collection */
};

struct entry {
    char name[64];
    struct inode *file; /* ref; NULL in an op = the name is removed */
};

struct table {
    struct entry v[NAMES];
    size_t n;
};

struct simdisk {
    struct disk d;
    struct rng rng;
    struct inode *inodes;
    struct table now, safe;
    struct entry ops[OPS]; /* since the last sync of the folder, in order */
    size_t nops;
    struct inode *handle[HANDLES];
    uint64_t calls, fail_at, die_at, room;
    int error;
    double short_chance, broken_chance;
    int broken_error;
    bool dead, locked;
};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "simdisk: %s\n", what);
    abort();
}

static struct simdisk *sim_of(struct disk *d)
{
    return container_of(d, struct simdisk, d);
}

/* ---- tables of names ----------------------------------------------------------------- */
static struct entry *find(struct table *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->v[i].name, name) == 0)
            return &t->v[i];
    return NULL;
}

static void apply(struct table *t, const struct entry *op)
{
    struct entry *at = find(t, op->name);

    if (at != NULL && op->file == NULL) {
        *at = t->v[--t->n];
    } else if (at != NULL) {
        at->file = op->file;
    } else if (op->file != NULL) {
        must(t->n < NAMES, "too many files");
        t->v[t->n++] = *op;
    }
}

static void change_name(struct simdisk *s, const char *name, struct inode *file)
{
    struct entry op = { .file = file };

    snprintf(op.name, sizeof(op.name), "%s", name);
    must(s->nops < OPS, "too many changes without a sync of the folder");
    s->ops[s->nops++] = op;
    apply(&s->now, &op);
}

/* A rename is two changes that a power cut does not part: see settle_names(). */
static const char *const together = "*";

static void settle_names(struct simdisk *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(s->ops[i].name, together) != 0)
            apply(&s->safe, &s->ops[i]);
    s->nops = 0;
}

static void collect(struct simdisk *s)
{
    for (struct inode *f = s->inodes; f != NULL; f = f->next)
        f->used = false;
    for (size_t i = 0; i < s->now.n; i++)
        s->now.v[i].file->used = true;
    for (size_t i = 0; i < s->safe.n; i++)
        s->safe.v[i].file->used = true;
    for (size_t i = 0; i < s->nops; i++)
        if (s->ops[i].file != NULL)
            s->ops[i].file->used = true;
    for (size_t i = 0; i < HANDLES; i++)
        if (s->handle[i] != NULL)
            s->handle[i]->used = true;
    for (struct inode **p = &s->inodes; *p != NULL;) {
        struct inode *f = *p;

        if (f->used) {
            p = &f->next;
            continue;
        }
        *p = f->next;
        free(f->now);
        free(f->safe);
        free(f->dirty);
        free(f);
    }
}

/* ---- files --------------------------------------------------------------------------- */
static struct inode *inode_new(struct simdisk *s)
{
    struct inode *f = calloc(1, sizeof(*f));

    must(f != NULL, "out of memory");
    f->next = s->inodes;
    s->inodes = f;
    return f;
}

static void grow_one(uint8_t **p, size_t old, size_t cap)
{
    *p = realloc(*p, cap);
    must(*p != NULL, "out of memory");
    memset(*p + old, 0, cap - old);
}

static void want_cap(struct inode *f, size_t n)
{
    size_t cap = (n * 2 / SECTOR + 2) * SECTOR;

    if (n <= f->cap)
        return;
    grow_one(&f->now, f->cap, cap);
    grow_one(&f->safe, f->cap, cap);
    grow_one(&f->dirty, f->cap, cap);
    f->cap = cap;
}

static void set_len(struct inode *f, size_t n)
{
    want_cap(f, n);
    if (n < f->now_len)
        memset(f->now + n, 0, f->now_len - n);
    f->now_len = n;
    f->low_len = u64_min(f->low_len, n);
}

static void store(struct inode *f, const void *p, size_t n, size_t at)
{
    want_cap(f, at + n);
    if (n > 0)
        memcpy(f->now + at, p, n);
    f->now_len = u64_max(f->now_len, at + n);
    for (size_t i = at / SECTOR; n > 0 && i <= (at + n - 1) / SECTOR; i++)
        f->dirty[i] = 1;
}

static void make_safe(struct inode *f)
{
    for (size_t i = 0; i * SECTOR < f->now_len; i++)
        if (f->dirty[i])
            memcpy(f->safe + i * SECTOR, f->now + i * SECTOR, SECTOR);
    memset(f->dirty, 0, f->cap);
    if (f->now_len < f->safe_len)
        memset(f->safe + f->now_len, 0, f->safe_len - f->now_len);
    f->safe_len = f->low_len = f->now_len;
}

static uint64_t room_of(const struct inode *f)
{
    return (u64_max(f->alloc, f->now_len) + SECTOR - 1) / SECTOR * SECTOR;
}

uint64_t simdisk_used(const struct simdisk *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->now.n; i++)
        sum += room_of(s->now.v[i].file);
    return sum;
}

/* How far the file may reach. */
static uint64_t reach(const struct simdisk *s, const struct inode *f)
{
    uint64_t used = simdisk_used(s), own = room_of(f);

    return own + (s->room > used ? s->room - used : 0);
}

/* ---- a power cut --------------------------------------------------------------------- */
static void cut_sector(struct simdisk *s, struct inode *f, size_t i, unsigned how)
{
    size_t at = i * SECTOR, n = u64_min(SECTOR, f->now_len - at);

    if (how == 2) /* each by chance: lost, kept, or torn */
        how = (unsigned)rng_below(&s->rng, 3);
    if (how == 2)
        n = rng_below(&s->rng, n + 1);
    if (how == 0 || n == 0)
        return;
    memcpy(f->safe + at, f->now + at, n);
    f->safe_len = u64_max(f->safe_len, at + n);
}

static void cut_file(struct simdisk *s, struct inode *f)
{
    unsigned how = (unsigned)rng_below(&s->rng, 4); /* none, all, or by chance */

    if (f->low_len < f->safe_len && rng_chance(&s->rng, 0.5)) {
        memset(f->safe + f->low_len, 0, f->safe_len - f->low_len);
        f->safe_len = f->low_len;
    }
    for (size_t i = 0; i * SECTOR < f->now_len; i++)
        if (f->dirty[i])
            cut_sector(s, f, i, how > 2 ? 2 : how);
    if (f->cap > 0) {
        memcpy(f->now, f->safe, f->cap);
        memset(f->dirty, 0, f->cap);
    }
    f->now_len = f->low_len = f->safe_len;
    f->alloc = 0;
}

void simdisk_kill(struct simdisk *s)
{
    memset(s->handle, 0, sizeof(s->handle));
    s->locked = s->dead = false;
    s->fail_at = s->die_at = 0;
}

void simdisk_crash(struct simdisk *s)
{
    size_t n = rng_chance(&s->rng, 0.3) ? s->nops : rng_below(&s->rng, s->nops + 1);

    simdisk_kill(s);
    if (n > 0 && n < s->nops && strcmp(s->ops[n - 1].name, together) == 0)
        n--;                     /* between the mark and its first change: not begun */
    else if (n > 1 && strcmp(s->ops[n - 2].name, together) == 0)
        n++;                     /* between its two changes: done */
    settle_names(s, n);
    s->now = s->safe;
    collect(s);
    for (struct inode *f = s->inodes; f != NULL; f = f->next)
        cut_file(s, f);
}

/* ---- the disk's calls ---------------------------------------------------------------- */
/* 0: go on; else what the call answers. */
static int begin_call(struct simdisk *s)
{
    s->calls++;
    if (s->calls == s->die_at)
        s->dead = true;
    if (s->dead)
        return -EIO;
    return s->calls == s->fail_at ? -s->error : 0;
}

/* The same for what writes. */
static int begin_write(struct simdisk *s)
{
    int rc = begin_call(s);

    if (rc == 0 && s->broken_chance > 0 && rng_chance(&s->rng, s->broken_chance))
        return -s->broken_error;
    return rc;
}

static bool cut_short(struct simdisk *s)
{
    return s->short_chance > 0 && rng_chance(&s->rng, s->short_chance);
}

static struct inode *file_of(struct simdisk *s, int h)
{
    must(h >= 0 && h < HANDLES && s->handle[h] != NULL, "a handle that is not open");
    return s->handle[h];
}

static int sim_open(struct disk *d, const char *name, enum disk_how how)
{
    struct simdisk *s = sim_of(d);
    struct entry *at = find(&s->now, name);
    int rc = begin_call(s), h = 0;
    struct inode *f;

    if (rc < 0)
        return rc;
    if (at == NULL && how != DISK_CREATE)
        return -ENOENT;
    f = at != NULL ? at->file : inode_new(s);
    if (at == NULL)
        change_name(s, name, f);
    else if (how == DISK_CREATE)
        set_len(f, 0);
    if (how == DISK_CREATE)
        f->alloc = 0;
    while (h < HANDLES && s->handle[h] != NULL)
        h++;
    must(h < HANDLES, "handles are not closed");
    s->handle[h] = f;
    return h;
}

static void sim_close(struct disk *d, int h)
{
    (void)file_of(sim_of(d), h);
    sim_of(d)->handle[h] = NULL;
}

static ssize_t sim_pread(struct disk *d, int h, void *p, size_t n, uint64_t at)
{
    struct simdisk *s = sim_of(d);
    struct inode *f = file_of(s, h);
    int rc = begin_call(s);

    if (rc < 0)
        return rc;
    if (cut_short(s))
        return -EINTR;
    if (at >= f->now_len)
        return 0;
    n = u64_min(n, f->now_len - at);
    if (n > 1 && cut_short(s))
        n = 1 + rng_below(&s->rng, n - 1);
    memcpy(p, f->now + at, n);
    return (ssize_t)n;
}

static ssize_t sim_pwrite(struct disk *d, int h, const void *p, size_t n, uint64_t at)
{
    struct simdisk *s = sim_of(d);
    struct inode *f = file_of(s, h);
    uint64_t end = reach(s, f);
    int rc = begin_write(s);

    if (rc < 0) { /* some of it may have got there */
        if (!s->dead && at < end)
            store(f, p, u64_min(rng_below(&s->rng, n + 1), end - at), at);
        return rc;
    }
    if (cut_short(s))
        return -EINTR;
    if (at >= end)
        return -ENOSPC;
    n = u64_min(n, end - at);
    if (n > 1 && cut_short(s))
        n = 1 + rng_below(&s->rng, n - 1);
    store(f, p, n, at);
    return (ssize_t)n;
}

static int64_t sim_size(struct disk *d, int h)
{
    int rc = begin_call(sim_of(d));

    return rc < 0 ? rc : (int64_t)file_of(sim_of(d), h)->now_len;
}

static int sim_sync(struct disk *d, int h)
{
    struct inode *f = file_of(sim_of(d), h);
    int rc = begin_write(sim_of(d));

    if (rc < 0 && rc != -EINTR && !sim_of(d)->dead && f->cap > 0)
        memset(f->dirty, 0, f->cap); /* "clean" */
    if (rc == 0 && f->cap > 0)
        make_safe(f);
    return rc;
}

static int sim_allocate(struct disk *d, int h, uint64_t end)
{
    struct simdisk *s = sim_of(d);
    struct inode *f = file_of(s, h);
    int rc = begin_call(s);

    if (rc < 0)
        return rc;
    if (end > reach(s, f))
        return -ENOSPC;
    f->alloc = u64_max(f->alloc, end);
    return 0;
}

static int sim_truncate(struct disk *d, int h, uint64_t size)
{
    struct inode *f = file_of(sim_of(d), h);
    int rc = begin_call(sim_of(d));

    if (rc < 0)
        return rc;
    set_len(f, size);
    f->alloc = 0;
    return 0;
}

static int sim_rename(struct disk *d, const char *from, const char *to)
{
    struct simdisk *s = sim_of(d);
    struct entry *at = find(&s->now, from);
    int rc = begin_call(s);
    struct inode *f;

    if (rc < 0)
        return rc;
    if (at == NULL)
        return -ENOENT;
    f = at->file;
    must(s->nops < OPS, "too many changes without a sync of the folder");
    snprintf(s->ops[s->nops].name, sizeof(s->ops[0].name), "%s", together);
    s->ops[s->nops++].file = NULL;
    change_name(s, to, f);
    change_name(s, from, NULL);
    return 0;
}

static int sim_unlink(struct disk *d, const char *name)
{
    struct simdisk *s = sim_of(d);
    int rc = begin_call(s);

    if (rc < 0)
        return rc;
    if (find(&s->now, name) == NULL)
        return -ENOENT;
    change_name(s, name, NULL);
    return 0;
}

static int sim_sync_dir(struct disk *d)
{
    struct simdisk *s = sim_of(d);
    int rc = begin_call(s);

    if (rc < 0)
        return rc;
    settle_names(s, s->nops);
    collect(s);
    return 0;
}

static int sim_list(struct disk *d, void (*on_name)(void *ctx, const char *name), void *ctx)
{
    struct simdisk *s = sim_of(d);
    int rc = begin_call(s);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->now.n; i++)
        on_name(ctx, s->now.v[i].name);
    return 0;
}

static int sim_lock(struct disk *d)
{
    struct simdisk *s = sim_of(d);
    int rc = begin_call(s);

    if (rc < 0)
        return rc;
    if (s->locked)
        return -EWOULDBLOCK;
    s->locked = true;
    return 0;
}

static void sim_free(struct disk *d)
{
    (void)d;
}

static const struct disk_ops sim_ops = {
    .open = sim_open,
    .close = sim_close,
    .pread = sim_pread,
    .pwrite = sim_pwrite,
    .size = sim_size,
    .sync = sim_sync,
    .allocate = sim_allocate,
    .truncate = sim_truncate,
    .rename = sim_rename,
    .unlink = sim_unlink,
    .sync_dir = sim_sync_dir,
    .list = sim_list,
    .lock = sim_lock,
    .free = sim_free,
};

/* ---- the test's side ----------------------------------------------------------------- */
struct simdisk *simdisk_new(uint64_t seed)
{
    struct simdisk *s = calloc(1, sizeof(*s));

    must(s != NULL, "out of memory");
    s->d.ops = &sim_ops;
    s->room = UINT64_MAX / 4;
    rng_seed(&s->rng, seed);
    return s;
}

void simdisk_free(struct simdisk *s)
{
    if (s == NULL)
        return;
    simdisk_kill(s);
    s->now.n = s->safe.n = s->nops = 0;
    collect(s);
    free(s);
}

struct disk *simdisk_disk(struct simdisk *s)
{
    return &s->d;
}

void simdisk_fail_at(struct simdisk *s, uint64_t k, int error)
{
    s->calls = 0;
    s->fail_at = k;
    s->error = error;
}

void simdisk_die_at(struct simdisk *s, uint64_t k)
{
    s->calls = 0;
    s->die_at = k;
}

uint64_t simdisk_calls(const struct simdisk *s)
{
    return s->calls;
}

bool simdisk_is_dead(const struct simdisk *s)
{
    return s->dead;
}

void simdisk_set_room(struct simdisk *s, uint64_t bytes)
{
    s->room = bytes;
}

void simdisk_break(struct simdisk *s, double chance, int error)
{
    s->broken_chance = chance;
    s->broken_error = error;
}

void simdisk_set_short(struct simdisk *s, double chance)
{
    s->short_chance = chance;
}

uint8_t *simdisk_bytes(struct simdisk *s, const char *name, size_t *n)
{
    struct entry *at = find(&s->now, name);

    if (at == NULL)
        return NULL;
    *n = at->file->now_len;
    want_cap(at->file, 1);
    return at->file->now;
}

void simdisk_put(struct simdisk *s, const char *name, const void *p, size_t n)
{
    struct inode *f = inode_new(s);

    store(f, p, n, 0);
    if (f->cap > 0)
        make_safe(f);
    change_name(s, name, f);
    settle_names(s, s->nops);
}

void simdisk_remove(struct simdisk *s, const char *name)
{
    change_name(s, name, NULL);
    settle_names(s, s->nops);
}

size_t simdisk_names(struct simdisk *s, char out[][64], size_t max)
{
    size_t n = u64_min(s->now.n, max);

    for (size_t i = 0; i < n; i++)
        memcpy(out[i], s->now.v[i].name, 64);
    return n;
}
