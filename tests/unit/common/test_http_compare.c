/* test_http_compare.c: the comparison of tests/lib/http_compare.h over the fuzz corpus,
 * and over one request for each class of difference. */
#include "tests/lib/http_compare.h"

#include "tests/lib/criterion.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static enum cmp_class compare(const char *t, size_t n)
{
    char *p = malloc(n + HTTP_SLACK);
    enum cmp_class c;

    memcpy(p, t, n);
    c = http_compare(p, n, t);
    free(p);
    return c;
}

#define H "Host: a\r\n"
#define T(c, t)                                                                          \
    {                                                                                    \
        c, t, sizeof(t) - 1                                                              \
    }

Test(http_compare, each_class)
{
    static const struct {
        enum cmp_class want;
        const char *t;
        size_t n;
    } v[] = {
        T(CMP_SAME, "GET /a?b HTTP/1.1\r\n" H "\r\n"),
        T(CMP_SAME, "GET /a HTTP/1.0\r\n\r\n"),
        T(CMP_SAME, "POST /a HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabcGET"),
        T(CMP_SAME, "POST /a HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
                    "3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n"),
        T(CMP_SAME, "POST /a HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
                    "0\r\nConnection: close\r\n\r\n"),
        T(CMP_SAME, "PATCH /a HTTP/1.1\r\n" H "Connection: close\r\n\r\n"),
        T(CMP_SAME,
          "GET /a HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        T(CMP_LIMIT, "POST / HTTP/1.1\r\n" H "Content-Length: 0000\r\nContent-Length: x"),
        T(CMP_VERSION, "GET / HTTP/2.0\r\n" H "\r\n"),
        T(CMP_CODING, "GET / HTTP/1.1\r\n" H "Expect: nothing\r\n\r\n"),
        T(CMP_HOST, "GET / HTTP/1.1\r\n\r\n"),
        T(CMP_HOST, "GET / HTTP/1.1\r\n" H H "\r\n"),
        T(CMP_NEWLINE, "GET / HTTP/1.1\n" H "\r\n"),
        T(CMP_FOLD, "GET / HTTP/1.1\r\n" H "A: b\r\n c\r\n\r\n"),
        T(CMP_TARGET, "GET /a\"b HTTP/1.1\r\n" H "\r\n"),
        T(CMP_FRAMING, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        T(CMP_CHUNK, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
                     "3 \r\nabc\r\n0\r\n\r\n"),
        T(CMP_TWICE, "GET / HTTP/1.1\r\n" H "Authorization: a\r\nAuthorization: b\r\n\r\n"),
        T(CMP_METHOD, "BREW / HTTP/1.1\r\n" H "\r\n"),
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        enum cmp_class c = compare(v[i].t, v[i].n);

        cr_expect_eq(c, v[i].want == CMP_LIMIT ? CMP_SAME : v[i].want, "%s: %s",
                     cmp_names[c], v[i].t);
    }
}

/* Scans go by blocks: what decides may lie at any place of one, or behind the last. */
Test(http_compare, any_byte_at_any_place)
{
    static const char usual[] = "GET /v1/tickets/0123456789-abcdef_ABCDEF HTTP/1.1\r\n"
                                "Host: waiting-room.example.com:8080\r\n"
                                "Sec-Fetch-Mode-Of-The-Day: cors, with\tcredentials\r\n"
                                "Connection: keep-alive\r\n\r\n";
    char t[sizeof(usual)];

    for (size_t i = 0; i < sizeof(usual) - 1; i++)
        for (unsigned c = 0; c < 256; c++) {
            memcpy(t, usual, sizeof(t));
            t[i] = (char)c;
            cr_expect_neq(compare(t, sizeof(t) - 1), CMP_UNEXPLAINED, "%u at %zu", c, i);
        }
}

Test(http_compare, limits_are_ours)
{
    static char t[40000];
    size_t n =
        (size_t)sprintf(t, "POST / HTTP/1.1\r\n" H "Content-Length: 20000\r\n\r\n");

    memset(t + n, 'b', 20000);
    cr_expect_eq(compare(t, n + 20000), CMP_LIMIT);
}

/* From wherever the tests are run: the folder is looked for upwards. */
static DIR *corpus(char *path, size_t cap)
{
    for (int up = 0; up < 6; up++) {
        DIR *d;

        path[0] = '\0';
        for (int i = 0; i < up; i++)
            strncat(path, "../", cap - strlen(path) - 1);
        strncat(path, "tests/fuzz/corpus/http", cap - strlen(path) - 1);
        d = opendir(path);
        if (d != NULL)
            return d;
    }
    return NULL;
}

Test(http_compare, corpus)
{
    char path[100], file[400];
    DIR *d = corpus(path, sizeof(path));
    unsigned n_files = 0;

    cr_assert(d != NULL, "corpus not found");
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        static char t[200000];
        FILE *f;
        size_t n;

        if (e->d_name[0] == '.')
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        f = fopen(file, "rb");
        cr_assert(f != NULL);
        n = fread(t, 1, sizeof(t), f);
        fclose(f);
        if (n > 0) /* the first byte says where the fuzzer cuts */
            cr_expect_neq(compare(t + 1, n - 1), CMP_UNEXPLAINED, "%s", e->d_name);
        n_files++;
    }
    closedir(d);
    cr_expect_gt(n_files, 20);
}
