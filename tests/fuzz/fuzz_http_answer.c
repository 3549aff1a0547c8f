/* fuzz_http_answer.c: whatever a server answers, http_answer.c touches no byte behind the buffer and
 * its slack, tells of no body that is not in it, and reads the same whole and cut in pieces. First
 * byte: where it is cut, and (its highest bit) whether HEAD was asked; the rest: the bytes. */
#include <stdlib.h>
#include <string.h>

#include "common/http/http_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

struct seen {
    struct http_answer a;
    int64_t rc;
    size_t used;
    uint64_t body; /* a sum of its bytes, and how many */
    size_t n;
};

/* In a buffer of its own, so that the sanitizer sees a byte too far. False: it takes no more. */
static bool step(struct seen *s, const uint8_t *from, size_t n)
{
    char *p = malloc(n + HTTP_SLACK);
    struct slice body = { 0 };
    int64_t took;

    must(p != NULL);
    memcpy(p, from, n);
    for (size_t i = 0; i < HTTP_SLACK; i++)
        p[n + i] = "\r\n"[i % 2];
    if (s->a.part == HTTP_ANSWER_HEAD) {
        took = http_answer_head(&s->a, p, n);
        must(took <= 0 || s->a.fields.p + s->a.fields.n == p + took);
    } else {
        took = http_answer_body(&s->a, p, n, &body);
    }
    must(took <= (int64_t)n && (body.n == 0 || (body.p >= p && body.p + body.n <= p + took)));
    must(took >= 0 || took == -431 || (took == -400 && s->a.wrong != NULL));
    for (size_t i = 0; i < body.n; i++)
        s->body = s->body * 31 + (uint8_t)body.p[i];
    s->n += body.n;
    s->rc = took < 0 ? took : 0;
    s->used += took > 0 ? (size_t)took : 0;
    free(p);
    return took > 0 && s->a.part != HTTP_ANSWER_DONE;
}

static void read_all(struct seen *s, const uint8_t *data, size_t n, size_t by, bool to_head)
{
    *s = (struct seen) { .a.to_head = to_head };
    for (size_t there = by < n ? by : n; s->rc == 0; there = n - there > by ? there + by : n) {
        while (step(s, data + s->used, there - s->used))
            ;
        if (there == n || s->a.part == HTTP_ANSWER_DONE)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole, cut;
    bool to_head;

    if (size < 1)
        return 0;
    to_head = data[0] & 128;
    read_all(&whole, data + 1, size - 1, size, to_head);
    read_all(&cut, data + 1, size - 1, 1 + (data[0] & 127), to_head);
    must(whole.rc == cut.rc && (whole.rc < 0 || whole.used == cut.used));
    must(whole.n == cut.n && whole.body == cut.body);
    must(whole.a.part == cut.a.part && whole.a.status == cut.a.status &&
         whole.a.keep_alive == cut.a.keep_alive);
    return 0;
}
