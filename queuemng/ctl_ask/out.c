/* out.c: see the header. */
#include "queuemng/ctl_ask/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "queuemng/ctl_ask/ctl.h"
#include "queuemng/ctl_view/text.h"

int ctl_say_err(const struct err *e, int code)
{
    struct buf b;

    fflush(stdout); /* `watch` has cleared the screen for this */
    buf_init(&b);
    ctl_clean(&b, e->text);
    fprintf(stderr, "segqctl: %.*s\n", (int)b.len, b.data != NULL ? (char *)b.data : "");
    buf_fini(&b);
    return code;
}

void ctl_put_end(void)
{
    if (ferror(stdout) == 0) /* else it is that of the write that failed */
        errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return;
    if (errno == EPIPE) /* `| head` has what it wanted */
        _exit(CTL_OK);
    fprintf(stderr, "segqctl: standard output cannot be written: %s\n",
            errno != 0 ? strerror(errno) : "an error before");
    fflush(stderr); /* a screen keeps errors back */
    _exit(CTL_REFUSED);
}

void ctl_put_out(const struct buf *b)
{
    if (b->len > 0)
        fwrite(b->data, 1, b->len, stdout);
    ctl_put_end();
}

void ctl_print(view_fn view, const json_t *doc)
{
    struct buf b;

    buf_init(&b);
    view(&b, doc);
    if (b.len > 0 && b.data[b.len - 1] != '\n')
        buf_byte(&b, '\n');
    ctl_put_out(&b);
    buf_fini(&b);
}
