/* page_def.h: what an operator says about a queue's waiting page. Pure. A part of the
 * queue's definition at queuemng; travels to routers as the JSON of this table, so both
 * read and check it alike. */
#ifndef SEGQ_PAGE_DEF_H
#define SEGQ_PAGE_DEF_H

#include "common/config/cfg.h"

#define PAGE_TEXTS_MAX  8
#define PAGE_MESSAGES_MAX 32
#define PAGE_RETURN_MAX 16         /* origins */
#define PAGE_STYLE_MAX  8000
#define PAGE_CHECK_MAX  255
#define PAGE_JSON_MAX   (64 * 1024) /* for a queue, in the map */

struct page_text { /* in place of the default ones for a reader of this language */
    char *lang, *title, *message;
};

struct page_message { /* the queue's `message` in this language */
    char *lang, *text;
};

struct page_def {
    char *title, *message; /* "": the page's own title; no message */
    char *accent;          /* "" or #rrggbb */
    char *logo;            /* "", data:image/..., or a path on this site: /logo.svg */
    struct cfg_list ret;   /* char *: origins that people may be sent to */
    struct cfg_list texts; /* struct page_text */
    char *image; /* a picture above the card, like the logo */
    char *style; /* "", or a style sheet behind ours */
    char *lang;  /* "", or for readers of none of the page's languages: zh-Hant */
    struct cfg_list messages; /* struct page_message */
    char *check, *check_key; /* "", or a widget that tells people from programs: page_widget_of(); its site key */
};

struct page_widget { /* made by its script in an element of that class, with the site key */
    const char *name, *script, *class;
    const char *sources; /* origins that it loads from, for the policy, each with a space before it */
};

extern const struct cfg_key page_def_keys[];

/* After cfg_bind. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int page_def_check(const struct page_def *d, struct err *e);
/* Nothing is said: the page is as it comes. */
bool page_def_is_empty(const struct page_def *d);
/* "http://host", "https://host:port", nothing behind it, small letters. */
bool page_origin_ok(const char *s);
bool page_accent_ok(const char *s); /* #rrggbb */
/* False: it has no widget. script and class point into d or constants; sources "": the script's origin alone. */
bool page_widget_of(const struct page_def *d, struct page_widget *out);
bool page_text_ok(const char *s);   /* lines, without other control characters; or NULL */

/* The JSON to send; nothing if empty. False: no memory, or above PAGE_JSON_MAX. */
SQ_CHECK bool page_def_write(struct buf *b, const struct page_def *d);
/* Back; d zeroed or set before. Keys of a newer manager are passed over. Also runs page_def_check(). */
SQ_CHECK int page_def_read(struct page_def *d, const char *json, size_t n, struct err *e);

#endif
