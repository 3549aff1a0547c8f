/* page_state.h: a page that was read: its template and texts. Private to the room. */
#ifndef SEGQ_ROUTER_PAGE_INT_H
#define SEGQ_ROUTER_PAGE_INT_H

#include "router/page/page.h"

/* Names that page.html may use. V: a value, R: raw; each text is there, too, by its name
 * with t_ before it. */
#define PAGE_SLOTS(V, R)                                                                 \
    V(lang) V(tab) V(title) V(state) V(heading) V(say) V(logo) V(image) V(message) V(accent)      \
    V(on_accent) V(nonce) R(style) R(own_style) R(script) R(data) V(refresh) V(refresh_s) V(waiting)  \
    V(position) V(of) V(kept) V(eta) V(percent) V(opens) V(wait) V(paused) V(path) V(token)      \
    V(target) V(can_join) V(can_retry) V(can_enter) V(can_leave) V(commitment) V(seed)   \
    V(ticket) V(door) V(claim) V(key) V(back) V(good_for) R(rooms) \
    R(languages) R(preview)

#define PAGE_SLOT_ID(name) PS_##name,
#define PAGE_SLOT_TEXT(name) PS_t_##name,
enum page_slot_id {
    PAGE_SLOTS(PAGE_SLOT_ID, PAGE_SLOT_ID) PAGE_TEXTS(PAGE_SLOT_TEXT, PAGE_SLOT_TEXT) PS_COUNT
};

struct page {
    struct page_tmpl *tmpl;
    struct gzip_ready style, script;
    struct gzip_ready texts[PAGE_LANGS_MAX]; /* end of the script's data, for each language */
    struct buf languages; /* a button for each */
    size_t n_langs, other; /* other: for readers of none of them */
    struct page_lang lang[PAGE_LANGS_MAX];
    const char *tags[PAGE_LANGS_MAX];
    struct gzip *gzip; /* owned; used by one document after the other */
};

#endif
