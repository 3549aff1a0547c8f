/* page.h: the waiting page: files and texts, read once; a view of a moment to HTML. Pure.
 *
 *   page.html (template.h) + page.css (+ key.js) + segq.js + segq_events.js + page.js (+ work.js, check.js, places.js or
 *   tell.js) +
 *   worker.js + a file of texts for each language (texts.h)
 * They are a part of the program; an operator's folder may replace any of them when the process
 * starts, page.html too: so the template is read then, and not when the program is built.
 *
 *   page.c     the files put together; status and headers of an answer; the operator's words
 *   render.c   the values of page.html's names, and the document */
#ifndef SEGQ_ROUTER_PAGE_H
#define SEGQ_ROUTER_PAGE_H

#include "common/config/page_def.h"
#include "common/ticket/token.h"
#include "common/wire/msg.h"
#include "router/page/input.h"
#include "router/page/template.h"
#include "router/page/texts.h"

#define PAGE_FILE_MAX  (64 * 1024) /* bytes of one file */
#define PAGE_FILES_MAX (PAGE_LANGS_MAX + 13)

struct page_file {
    const char *name; /* "page.html", "zh.json" */
    const char *p;
    size_t n;
};

struct page; /* the files, checked and ready */

/* files: names as above; all of them must be there, but of the texts only en.json. Nothing of them
 * is kept. SQ_EINVAL names the file. */
SQ_CHECK int page_new(struct page **out, const struct page_file *files, size_t n,
                      struct err *e);
void page_free(struct page *p);
/* Languages are numbered. The one for an Accept-Language header. other: the tag of the one for
 * readers of none of ours; NULL, "" or none of ours: page_lang_default()'s. */
size_t page_lang_for(const struct page *p, struct slice accept_language, const char *other);
/* The one that somebody named: "de", "de-AT", "zh-TW". False: there is none; *lang is as it was. */
bool page_lang_known(const struct page *p, struct slice tag, size_t *lang);
const char *page_lang_tag(const struct page *p, size_t lang);
/* For readers of none of them, in place of English. False: there is no such language. */
SQ_CHECK bool page_lang_default(struct page *p, const char *tag);

enum page_state {
    PAGE_WAITING,
    PAGE_DOOR, /* no place yet, and perhaps no person behind the request: the form joins */
    PAGE_TURN, /* admitted, and no redirect was followed */
    PAGE_EXPIRED,
    PAGE_NO_SHOW,
    PAGE_LOST,
    PAGE_LEFT,
    PAGE_CLOSED,
    PAGE_EARLY,  /* not open yet: opens_ms */
    PAGE_REJECT, /* everybody is sent away for now */
    PAGE_FULL,
    PAGE_UNAVAILABLE,
    PAGE_TOO_FAST,
    PAGE_NO_QUEUE,
    PAGE_REFUSED, /* claim is not good */
    PAGE_OTHER_DEVICE, /* ticket that it shows is another device's: ticket_seg, ticket_number */
    PAGE_START,   /* page of a router that stands alone, at "/" */
    PAGE_IN,      /* already in, with a good pass */
    PAGE_COOKIES, /* back without our cookie */
    PAGE_WORK,    /* a place costs some work now: the script does it, and sends the form join */
    PAGE_CHECK,   /* a place is for people: the operator's widget, whose token the form join brings */
    PAGE_PLACES,  /* in several lines: places */
    PAGE_NSTATES,
};

struct page_place { /* a line of several */
    const char *queue;
    const struct page_def *def; /* NULL: there is none */
    enum page_state state;      /* PAGE_WAITING, or why it is over; PAGE_UNAVAILABLE: not known now */
    bool early, paused;         /* state PAGE_TURN: it may go in, and the others are kept */
    uint64_t position;          /* 0: not known */
    int64_t eta_s;              /* -1: not known */
    seg_id ticket_seg;
    uint32_t ticket_number;
};

enum page_told { TOLD_NOTHING, TOLD_YES, TOLD_NO }; /* by the field, for its reader */

struct page_view {
    enum page_state state;
    size_t lang;
    bool chosen;                /* the reader has just named it: it goes into a cookie */
    bool gzip;                  /* the browser takes it */
    bool json;                  /* for a program, in place of HTML */
    const char *preview;        /* NULL; for an operator: HTML, links to other states */
    const char *queue;          /* name of it; "" if there is none */
    const struct page_def *def; /* NULL: there is none */
    const struct gzip_ready *style; /* packed form of it; NULL: none */
    const char *message;        /* the operator's word of the moment; NULL or "": none */
    uint32_t version;           /* data of both, for the script */
    const char *target;         /* checked: where to go afterwards */
    const char *nonce;          /* nonce of this answer */
    const char *key;            /* key of its form `join`; likewise */
    bool keyed;                 /* tickets of its queue are bound to keys; then: */
    const char *proof;          /* nonce for a proof */
    const char *token;          /* ticket that waits, or is another device's: TOKEN_TEXT_LEN characters; NULL: none */
    struct slice challenge;     /* PAGE_WORK: its JSON; */
    uint64_t keys;              /* tries that it takes at most */
    const char *ask;            /* base64 of that, as whoever waits brings it back; "": none */
    bool door;                  /* likewise: a ticket that is there by now will do */
    const char *claim;          /* to join with, now or when it asks again */
    size_t claim_len;           /* 0: none */
    const struct page_place *places; /* PAGE_PLACES; */
    size_t n_places;
    bool keeps;                 /* a turn does not end the others */
    const char *forms_to;       /* origins to which its forms may lead, each with a space before it; NULL: the target's */
    char *const *rooms;         /* PAGE_START: queues that it links to */
    size_t n_rooms;
    int64_t good_for_s;         /* PAGE_IN: the pass */
    uint64_t position, total;   /* position 0: not known */
    bool capped;                /* further back than that */
    uint64_t start;             /* the position at first; 0: not known */
    int64_t eta_s;              /* -1: not known */
    uint32_t poll_after_ms;     /* in other states: when to try again; 0: not by itself */
    int64_t opens_ms; /* wall clock: PAGE_EARLY, or waiting in the pre-queue; else 0 */
    int64_t wall_ms;  /* now, if opens_ms is not 0 */
    const char *draw; /* JSON: what is published of the draw; NULL or "": there is none */
    seg_id ticket_seg; /* the ticket's own name: segment and number */
    uint32_t ticket_number;
    const char *push_key; /* waiting: the button for Web Push; NULL or "": there is none */
    uint32_t field;       /* enum turn_field */
    uint8_t told;         /* enum page_told */
    bool paused;
    uint32_t kept_s; /* how long a place is kept at least while nobody asks for it; 0: not known */
};

/* The script that shows a message of Web Push while no page is open. */
struct slice page_worker(const struct page *p);

int page_status(enum page_state s); /* status of the answer */
/* The document's headers, each with CRLF: policy, language. */
void page_put_headers(const struct page *p, struct buf *b, const struct page_view *v);

/* ---- texts for a reader: the operator's in place of ours ---- */

struct page_words {
    const char *title, *message; /* "": none */
    const char *now;             /* the queue's message in this language; "": as for all */
};
/* The operator's, in the page's language `tag`. */
struct page_words page_words_for(const struct page_def *d, const char *tag);
/* The operator's text below all: the message of the moment (NULL or "": none), in the reader's
 * language if there is one, then the page's own. */
void page_put_message(struct buf *b, const char *now, const struct page_words *w);
/* Writes the texts that may change while people wait, as JSON: title and message in this language. */
void page_put_words(const struct page *p, struct buf *b, size_t lang,
                    const struct page_def *def, const char *message, uint32_t version);
/* ---- the files of deploy/page and the scripts of clients/js, inside the program; the table is
 * written by deploy/page/embed.sh when the program is built ---- */

struct page_blob {
    const char *name; /* without folders */
    const char *begin, *end;
};

extern const struct page_blob page_blobs[];
extern const size_t page_blobs_n;

/* ---- a page that was read: its template and texts; for this room only ---- */

/* Names that page.html may use. V: a value, R: raw; each text is there, too, by its name
 * with t_ before it. */
#define PAGE_SLOTS(V, R)                                                                 \
    V(lang) V(tab) V(title) V(state) V(heading) V(say) V(logo) V(image) V(message) V(accent)      \
    V(on_accent) V(nonce) R(style) R(own_style) R(script) R(work) R(places) R(tell) V(push) V(reach) V(reach_type) V(told) \
    V(proof) R(prover) R(data) V(refresh) V(refresh_s) V(waiting)  \
    V(position) V(of) V(kept) V(eta) V(percent) V(opens) V(wait) V(paused) V(path) V(token)      \
    V(target) V(can_join) V(can_retry) V(can_enter) V(can_leave) V(commitment) V(seed)   \
    V(ticket) V(door) V(claim) V(key) V(ask) V(widget) V(widget_class) V(widget_key) V(back) V(good_for) R(rooms) \
    R(languages) R(preview)

#define PAGE_SLOT_ID(name) PS_##name,
#define PAGE_SLOT_TEXT(name) PS_t_##name,
enum page_slot_id {
    PAGE_SLOTS(PAGE_SLOT_ID, PAGE_SLOT_ID) PAGE_TEXTS(PAGE_SLOT_TEXT, PAGE_SLOT_TEXT) PS_COUNT
};

struct page {
    struct page_tmpl *tmpl;
    struct gzip_ready style, script, tell, prover; /* tell: with push_key; prover: with `bind: key` */
    struct gzip_ready work, check, places; /* PAGE_WORK, PAGE_CHECK, PAGE_PLACES alone */
    struct buf worker; /* the service worker */
    struct gzip_ready texts[PAGE_LANGS_MAX]; /* end of the script's data, for each language */
    struct buf languages; /* a button for each */
    size_t n_langs, other; /* other: for readers of none of them */
    struct page_lang lang[PAGE_LANGS_MAX];
    const char *tags[PAGE_LANGS_MAX];
    struct gzip *gzip; /* owned; used by one document after the other */
};

#endif
