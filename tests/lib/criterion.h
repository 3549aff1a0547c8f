// Criterion, with asserts that compile in half the time: its macro writes at each of our ten
// thousand asserts the code that words a failure, ours calls one function that does.
// Statistics of asserts that pass (--full-stats) are not kept.
#ifndef SEGQ_TESTS_LIB_CRITERION_H
#define SEGQ_TESTS_LIB_CRITERION_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// Each test runs in a process of its own, and Criterion opens libgit2 in each, which reads all certificates
// of the system: a fifth of the time of all units. Only differences of strings need it (eq(str, ...)), which
// our asserts do not ask for.
int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(void);

__attribute__((weak)) int git_libgit2_init(void)
{
    return 1;
}

__attribute__((weak)) int git_libgit2_shutdown(void)
{
    return 0;
}

__attribute__((weak)) int git_diff_buffers(void)
{
    return -1;
}

// Reports a failed assert, in the words of the test (after an x) or in Criterion's (`own`, freed here).
__attribute__((unused, noinline, format(printf, 4, 5))) static void
cr_report(const char *file, unsigned line, char *own, const char *fmt, ...)
{
    char said[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(said, sizeof said, fmt, ap);
    va_end(ap);
    struct criterion_assert_stats s = {
        .passed = false, .message = said[1] ? said + 1 : own, .line = line, .file = file
    };
    criterion_send_assert(&s);
    free(own);
}

#define CR_REPORT_(Kind, Values, ...) \
    cr_report(__FILE__, __LINE__, CR_TRANSLATE_DEF_MSG_(Kind, Values), "x" __VA_ARGS__)

#undef cr_assert_impl
#define cr_assert_impl(Fail, Condition, Dummy, ...) \
    do {                                            \
        if (Condition) {                            \
            cri_asserts_passed_incr();              \
        } else {                                    \
            CR_REPORT_(__VA_ARGS__);                \
            Fail();                                 \
        }                                           \
    } while (0)

#endif
