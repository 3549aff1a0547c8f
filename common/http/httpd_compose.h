/* httpd_compose.h: an answer of httpd.h as bytes: status line, header and body, by hand. Shell, for the
 * clock of its date. */
#ifndef SEGQ_HTTPD_COMPOSE_H
#define SEGQ_HTTPD_COMPOSE_H

#include "common/http/httpd_int.h"

struct answer {
    int status;
    const char *type, *headers, *lines, *body;
    size_t type_len, headers_len, lines_len;
    uint64_t body_len;
    bool close, keep_header, head, open, sized, passing;
};

#define ANSWER_HEAD_MAX 512 /* all but type, headers and body */
#define BODY_MIN        100 /* least bytes for httpd_body() */

/* The bytes into out, which has room for them; their number. */
size_t compose(struct httpd *h, const struct answer *a, char *out);
/* Before it: makes the head of this second. */
void compose_common(struct httpd *h, int64_t now_s);
static inline void compose_date(struct httpd *h)
{
    int64_t now_s = ev_wall_ms(h->ev) / 1000;

    if (SQ_UNLIKELY(now_s != h->date_s))
        compose_common(h, now_s);
}
/* The head for httpd_body(): the body's length is three digits, at size_at. */
void compose_body_head(struct httpd *h, struct body_head *x, int status, const char *type);
void compose_count(struct httpd *h, int status);

#endif
