/* test_task_moves_large.c: a partition with large bodies of calls is copied between two tables (task/node/part_copy.h),
 * with real folders (task/bodies/large.h): tasks that end amid it, disks that fail, restarts behind which nobody has
 * told the node of its endpoint yet. */
#include "tests/lib/criterion.h"
#include <dirent.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/task/call.h"
#include "task/bodies/large.h"
#include "tests/unit/task/twotables.h"

#define N 3000001u /* more than is on its way at once */

static uint64_t uploads;
static char dir[2][40];
static uint8_t noise[N];
static bool keep_fails, read_fails;

static int keep(struct large *l, uint64_t link, const struct call_file *f, uint32_t part, task_no no)
{
    return keep_fails ? SQ_EFULL : large_keep(l, link, f, part, no);
}

static int64_t read_at(struct large *l, const struct call_file *f, uint32_t part, task_no no, uint64_t at, uint8_t *p,
                       size_t n)
{
    return read_fails ? SQ_ESYS : large_read_at(l, f, part, no, at, p, n);
}

static const struct msg *has_said(int i, enum msg_type type)
{
    const struct msg *m = said(i, type);

    cr_assert_not_null(m);
    return m;
}

static void open_part(int i, uint64_t epoch)
{
    say(i, MNG, &(struct msg){ .type = MSG_PART_OPEN,
                               .part_open = { EPOCH, 3, epoch, "q*", 0, NULL, 100, false, epoch > 8 } });
    turn(i);
}

static void order_out(void)
{
    say(A, MNG, &(struct msg){ .type = MSG_PART_OUT, .part_out = { EPOCH, 3, 8, 9, "b", "10.0.0.2:1" } });
    turn(A);
}

static void setup(void)
{
    struct err e;

    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    now = (struct task_now){ 1700000000000, 1700000000000 };
    keep_fails = read_fails = false;
    for (size_t i = 0; i < N; i++)
        noise[i] = (uint8_t)(i * 7 + i / 251);
    for (int i = A; i <= B; i++) {
        strcpy(dir[i], "/tmp/segq-moves.XXXXXX");
        cr_assert_not_null(mkdtemp(dir[i]));
        rig[i].large = (struct tab_large){ large_add, large_has, keep, large_drop, read_at, NULL };
        cr_assert_eq(large_open(&rig[i].large.ctx, dir[i], 1 << 30, false, &e), 0);
        outbox_init(&out[i]);
        tabrig_new(&rig[i]);
        up(i);
        say(i, MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    }
    open_part(A, 8);
}

static unsigned files(int i, bool remove)
{
    DIR *d = opendir(dir[i]);
    struct dirent *x;
    unsigned n = 0;

    while ((x = readdir(d)) != NULL) {
        n += x->d_name[0] != '.';
        if (remove && x->d_name[0] != '.')
            (void)unlinkat(dirfd(d), x->d_name, 0);
    }
    closedir(d);
    return n;
}

static void teardown(void)
{
    for (int i = A; i <= B; i++) {
        tabrig_fini(&rig[i]);
        large_close(rig[i].large.ctx);
        outbox_fini(&out[i]);
        (void)files(i, true);
        (void)rmdir(dir[i]);
    }
}

TestSuite(task_moves_large, .init = setup, .fini = teardown);

static struct call_file upload(uint32_t from)
{
    struct call_file f = { .length = N - from, .upload = ++uploads };

    for (size_t at = 0, n; at < f.length; at += n) {
        const struct msg_task_upload_ans *a;

        n = u64_min(f.length - at, TASK_UPLOAD_MAX);
        say(A, RTR, &(struct msg){ .type = MSG_TASK_UPLOAD,
                                   .task_upload = { .part = 3, .epoch = 8, .upload = f.upload, .at = at,
                                                    .data = { (uint32_t)n, noise + from + at },
                                                    .last = at + n == f.length } });
        a = &has_said(A, MSG_TASK_UPLOAD_ANS)->task_upload_ans;
        cr_assert_eq(a->code, CODE_DONE);
        if (at + n == f.length)
            memcpy(f.sha256, a->sha256.p, sizeof(f.sha256));
    }
    return f;
}

static struct task_put_row put(const struct call_file *f)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "" };
    struct task_put_row row;
    struct buf b;

    buf_init(&b);
    call_pack_begin(&b, (struct call_span){ "POST", 4 }, (struct call_span){ "/", 1 });
    call_pack_file(&b);
    call_pack_file_end(b.data, b.len, f);
    one.body = (struct bytes_of){ (uint32_t)b.len, b.data };
    say(A, RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    row = has_said(A, MSG_TASK_PUT_ANS)->task_put_ans.v[0];
    turn(A);
    buf_fini(&b);
    return row;
}

static struct call_file submit(uint32_t from, task_no *no)
{
    struct call_file f = upload(from);
    struct task_put_row row = put(&f);

    cr_assert_eq(row.code, CODE_DONE);
    *no = row.no;
    return f;
}

static void run(void)
{
    for (int i = 0; i < 100; i++)
        both();
}

static void copy(void)
{
    order_out();
    link_up();
    run();
}

static uint8_t life(int i)
{
    const struct part *p = tasktab_part(rig[i].t, 3);

    return p == NULL ? 99 : p->life;
}

static void is_there(int i, const struct call_file *f, uint32_t from, task_no no)
{
    static uint8_t got[N];

    cr_expect_eq(large_read_at(rig[i].large.ctx, f, 3, no, 0, got, N), (int64_t)f->length);
    cr_expect_eq(memcmp(got, noise + from, f->length), 0);
}

Test(task_moves_large, they_go_along_before_anybody_has_told_of_the_endpoint)
{
    task_no no[2];
    struct call_file one = submit(0, &no[0]), two = submit(7, &no[1]);

    copy();
    cr_assert(life(A) == PART_FENCED && life(B) == PART_COME);
    is_there(B, &one, 0, no[0]);
    is_there(B, &two, 7, no[1]);
    cr_expect_eq(files(B, false), 2);
}

/* Its call succeeds when a part of its body has come: what it has by now is the answer. */
static void succeed_amid(void)
{
    const struct msg_task_take_ans *a;
    struct settle_row r = { .part = 3, .epoch = 8, .verb = SETTLE_ACK, .result = { 2, (const uint8_t *)"ok" } };

    say(A, RTR, &(struct msg){ .type = MSG_TASK_TAKE, .task_take = { 3, 8, "q", 1, 60000, 0 } });
    a = &has_said(A, MSG_TASK_TAKE_ANS)->task_take_ans;
    cr_assert_eq(a->n, 1);
    r.no = a->v[0].no;
    r.lease = a->v[0].lease;
    turn(A);
    order_out();
    link_up();
    for (int i = 0; i < 30 && files(B, false) == 0; i++)
        both();
    cr_assert_eq(files(B, false), 1);
    say(A, RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    cr_assert_eq(has_said(A, MSG_TASK_SETTLE_ANS)->task_settle_ans.v[0].code, CODE_DONE);
    run();
}

Test(task_moves_large, a_task_that_ends_amid_its_file_leaves_nothing_and_the_next_one_has_all)
{
    task_no no[2];
    struct call_file two;

    (void)submit(0, &no[0]);
    two = submit(7, &no[1]);
    succeed_amid();
    cr_assert(life(A) == PART_FENCED && life(B) == PART_COME);
    is_there(B, &two, 7, no[1]);
    cr_expect_eq(files(B, false), 1);
}

Test(task_moves_large, the_last_one_that_ends_amid_its_file_leaves_nothing)
{
    task_no no;

    (void)submit(0, &no);
    succeed_amid();
    cr_assert(life(A) == PART_FENCED && life(B) == PART_COME);
    cr_expect_eq(files(B, false), 0);
}

Test(task_moves_large, one_that_cannot_be_read_now_is_not_taken_for_lost)
{
    task_no no;
    struct call_file one = submit(0, &no);

    read_fails = true;
    copy();
    cr_assert_eq(life(A), PART_OWNED, "it stays");
    cr_expect(tasktab_part(rig[A].t, 3)->out->stuck);
    read_fails = false;
    open_part(A, 10);
    cr_assert_eq(tasktab_part(rig[A].t, 3)->epoch, 10);
    say(A, MNG, &(struct msg){ .type = MSG_PART_OUT, .part_out = { EPOCH, 3, 10, 11, "b", "10.0.0.2:1" } });
    run();
    cr_assert_eq(life(B), PART_COME);
    is_there(B, &one, 0, no);
}

Test(task_moves_large, one_that_the_target_cannot_keep_makes_it_refuse)
{
    task_no no;
    struct call_file one = submit(0, &no);

    keep_fails = true;
    copy();
    cr_expect_eq(life(B), 99);
    is_there(A, &one, 0, no);
}

Test(task_moves_large, without_its_file_there_is_no_task)
{
    struct call_file f = upload(0), none = f;

    none.upload = 99;
    cr_expect_eq(put(&none).code, CODE_BUSY, "said again on another link, or behind a start");
    keep_fails = true;
    cr_expect_eq(put(&f).code, CODE_FULL + FULL_DISK);
    cr_expect_eq(tasktab_part_tasks(tasktab_part(rig[A].t, 3)), 0);
    cr_expect_eq(files(A, false), 0);
}
