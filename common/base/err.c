/* err.c: error texts and the one sentence of struct err. */
#include "common/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sq_strerror(int code)
{
    if (code >= 0)
        return "ok";
    switch (code) {
#define X(name, value, text)                                                             \
    case value:                                                                          \
        return text;
        SQ_ERRORS(X)
#undef X
    default:
        return "unknown error";
    }
}

/* The sentence goes into one log line and one problem document. */
static void one_line(char *s)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = ' ';
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;

    if (e == NULL)
        return code;
    e->code = code;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    one_line(e->text);
    return code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char old[sizeof(e->text)];
    va_list ap;
    size_t n;
    int k;

    if (e == NULL)
        return SQ_EINVAL; /* the caller kept no error: any negative will do */
    memcpy(old, e->text, sizeof(old));
    va_start(ap, fmt);
    k = vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    n = k < 0 ? 0 : (size_t)k;
    if (n + 3 < sizeof(e->text)) {
        size_t room, keep = strlen(old);

        memcpy(e->text + n, ": ", 2);
        n += 2;
        room = sizeof(e->text) - n - 1;
        keep = keep < room ? keep : room; /* the end of a long sentence is cut off */
        memcpy(e->text + n, old, keep);
        e->text[n + keep] = '\0';
    }
    one_line(e->text);
    return e->code;
}
