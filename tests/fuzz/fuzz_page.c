/* fuzz_page.c: what browsers send with a page's request, and who listens. Whatever comes: nothing breaks, a
 * target that is let through is a path or on an allowed origin, and what is put into a
 * document or a script stays where it is put. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "router/calls/events.h"
#include "router/page/input.h"
#include "router/page/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *origins[] = { "https://shop.example" };

static void must(bool what)
{
    if (!what)
        abort();
}

static void target(const char *to, size_t n)
{
    struct buf b;

    if (!page_target_ok(to, n, origins, 1))
        return;
    buf_init(&b);
    page_put_target(&b, to, n);
    for (size_t i = 0; i < b.len; i++)
        must(b.data[i] > 0x20 && b.data[i] < 0x7f && b.data[i] != '\\');
    if (b.data[0] == '/')
        must(b.len == 1 || b.data[1] != '/');
    else
        must(b.len >= 20 && memcmp(b.data, origins[0], 20) == 0 &&
             (b.len == 20 || strchr("/?#", b.data[20]) != NULL));
    buf_fini(&b);
}

static void escapes(const char *p, size_t n)
{
    struct buf b;

    buf_init(&b);
    page_put_html(&b, p, n);
    for (size_t i = 0; i < b.len; i++)
        must(strchr("<>\"'`", b.data[i]) == NULL || b.data[i] == '\0');
    buf_reset(&b);
    page_put_json(&b, p, n);
    must(b.len >= 2 && b.data[0] == '"' && b.data[b.len - 1] == '"');
    for (size_t i = 1; i + 1 < b.len; i++)
        must(b.data[i] >= 0x20 && strchr("<>&\"'", b.data[i]) == NULL);
    buf_fini(&b);
}

/* Of a Last-Event-ID: what is read is what we have written. */
static void last_event(struct slice s)
{
    uint64_t id = event_id(s);
    struct buf b;

    while (s.n > 1 && *s.p == '0') {
        s.p++;
        s.n--;
    }
    if (id == 0)
        return;
    buf_init(&b);
    buf_u64(&b, id);
    must(b.len == s.n && memcmp(b.data, s.p, s.n) == 0);
    buf_fini(&b);
}

static void template(const char *p, size_t n)
{
    static const struct page_slot slots[] = { { "a", false }, { "b", true } };
    const struct page_str v[] = { { .p = "1", .n = 1 }, { .p = NULL } };
    struct page_tmpl *t = NULL;
    struct err e = { 0 };
    struct buf b;

    if (page_tmpl_new(&t, p, n, slots, 2, &e) < 0)
        return;
    buf_init(&b);
    page_tmpl_put(t, &b, v, NULL);
    buf_fini(&b);
    page_tmpl_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tags[] = { "en", "zh", "pt-br" };
    char out[PAGE_TARGET_MAX + 1], *copy = malloc(size + 1);
    struct slice s = { copy, size };
    int64_t n;

    if (copy == NULL || size > 8192) {
        free(copy);
        return 0;
    }
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    n = page_return(s, out, sizeof(out));
    must(n < 0 || (size_t)n == strlen(out) || memchr(copy, '\0', size) != NULL);
    if (n > 0)
        target(out, (size_t)n);
    target(copy, size);
    n = page_member(s, "token", out, 56);
    must(n < 56);
    must(page_language(s, tags, 3, 0) < 3);
    (void)page_takes_gzip(s);
    escapes(copy, size);
    template(copy, size);
    last_event(s);
    free(copy);
    return 0;
}
