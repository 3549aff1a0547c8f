/* test_ctl_http.c: requests that cannot be written say why, before anything is sent. */
#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_ask/http.h"

static char longest[700];

static int asks(const char *method, const char *token, const char *operator, struct err *e)
{
    struct ctl_call call = { .method = method, .path = "/v1/admin/x", .bearer = token };
    struct ctl_net net = { .timeout_s = 1, .operator = operator };
    struct ctl_answer a = { 0 };
    int rc;

    unsetenv("SEGQ_OPERATOR");
    rc = ctl_http("http://127.0.0.1:1", &call, &net, &a, e); /* nobody listens there */
    buf_fini(&a.body);
    return rc;
}

static int sends(const char *token, const char *operator, struct err *e)
{
    return asks("POST", token, operator, e);
}

Test(ctl_http, a_token_that_no_header_holds_is_refused_whole)
{
    struct err e = { 0 };

    memset(longest, 'x', sizeof(longest) - 1);
    cr_expect_eq(sends(longest, "anna", &e), SQ_EINVAL, "%s", e.text);
    cr_expect_not_null(strstr(e.text, "the admin token is longer than "), "%s", e.text);
    cr_expect_eq(sends(longest + 150, "anna", &e), SQ_EUNAVAIL, "%s", e.text);
}

Test(ctl_http, an_operators_name_that_is_too_long_is_named)
{
    struct err e = { 0 };

    memset(longest, 'x', sizeof(longest) - 1);
    cr_expect_eq(sends("token", longest, &e), SQ_EINVAL, "%s", e.text);
    cr_expect_not_null(strstr(e.text, "the operator's name (SEGQ_OPERATOR"), "%s", e.text);
    cr_expect_eq(sends("token", longest + 150, &e), SQ_EUNAVAIL, "%s", e.text);
}

/* A look at suspects, or at a payload, is in the log of changes, too. */
Test(ctl_http, a_look_has_the_operators_name)
{
    struct err e = { 0 };

    memset(longest, 'x', sizeof(longest) - 1);
    cr_expect_eq(asks("GET", "token", longest, &e), SQ_EINVAL, "%s", e.text);
    cr_expect_eq(asks("GET", NULL, longest, &e), SQ_EUNAVAIL, "a router gets no name: %s", e.text);
}
