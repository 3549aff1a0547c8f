/* test_err.c: codes have texts; sentences are wrapped and stay one line. */
#include "common/base/err.h"

#include "tests/lib/criterion.h"
#include <string.h>

Test(err, every_code_has_a_text)
{
#define X(code, value, text) cr_expect_str_eq(sq_strerror(code), text);
    SQ_ERRORS(X)
#undef X
    cr_expect_str_eq(sq_strerror(0), "ok");
    cr_expect_str_eq(sq_strerror(7), "ok");
    cr_expect_str_eq(sq_strerror(-999), "unknown error");
}

Test(err, wrapping_puts_the_outer_level_first)
{
    struct err e;

    cr_expect_eq(err_set(&e, SQ_ESYS, "open %s", "x"), SQ_ESYS);
    cr_expect_eq(err_wrap(&e, "segment %d", 7), SQ_ESYS);
    cr_expect_str_eq(e.text, "segment 7: open x");
}

Test(err, no_struct_is_fine)
{
    cr_expect_eq(err_set(NULL, SQ_EFULL, "x"), SQ_EFULL);
    cr_expect_lt(err_wrap(NULL, "x"), 0);
}

Test(err, stays_one_bounded_line)
{
    char longer[2000];
    struct err e;

    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    cr_expect_lt(err_set(&e, SQ_EINVAL, "two\nlines"), 0);
    cr_expect_str_eq(e.text, "two lines");
    cr_expect_lt(err_wrap(&e, "%s", longer), 0);
    cr_expect_eq(strlen(e.text), sizeof(e.text) - 1);
}
