/* texts.h: the texts of the page, with their plurals, numbers and times: a JSON file for each
 * language, which must have all of them and no others. Pure (jansson). */
#ifndef SEGQ_ROUTER_PAGE_TEXT_H
#define SEGQ_ROUTER_PAGE_TEXT_H

#include "common/base/base.h"
#include "common/base/buf.h"
#include "common/base/err.h"

/* {n} in a text is a number put in; a text with one may have a form for each plural of its
 * language, {"one": .., "other": ..} (CLDR's names; "other" must be there). Those marked J go to
 * the script, too. */
#define PAGE_TEXTS(T, J)                                                                 \
    T(title) J(waiting) J(keep) T(kept) T(refresh) T(place) J(of) J(unknown) J(wait) J(eta_soon) \
    J(eta_minutes) J(eta_hours) J(eta_unknown) T(progress) J(paused) J(held) J(fresh)    \
    J(at) J(bell) J(bell_on) T(push) T(push_on) T(push_no) T(soon) T(email) T(reach) T(told) T(support) T(leave) J(leave_ask) J(now) J(now_place)        \
    J(offline) J(busy) J(turn) J(turn_say) T(enter) T(door) T(door_say) T(expired)       \
    T(expired_say) T(no_show) T(no_show_say) T(lost) T(lost_say) T(left) T(left_say)     \
    T(closed) T(closed_say) T(early) T(early_say) T(opens) T(prequeue) T(prequeue_say)   \
    J(drawn) T(draw) T(draw_say) T(draw_hash) T(draw_seed) T(draw_ticket) T(reject)      \
    T(reject_say) T(full) T(full_say) T(unavailable) T(unavailable_say) T(too_fast)      \
    T(too_fast_say) T(no_queue) T(no_queue_say) T(refused) T(refused_say) T(other_device)       \
    T(other_device_say) T(cookies)                                                       \
    T(cookies_say) T(work) T(work_say) T(work_wait) T(check) T(check_say) T(check_wait) T(places) T(places_say) T(places_keep) T(join) T(again) T(back) T(start) T(start_say) T(rooms) T(in)         \
    T(in_say) T(good_for) T(language) T(name) T(thousands) T(group) T(plural) T(dir)

#define PAGE_TEXT_ID(name) PT_##name,
enum page_text_id { PAGE_TEXTS(PAGE_TEXT_ID, PAGE_TEXT_ID) PT_COUNT };

enum page_plural { PLURAL_OTHER, PLURAL_ONE, PLURAL_TWO, PLURAL_FEW, PLURAL_MANY, PLURAL_COUNT };

#define PAGE_TEXT_MAX 600 /* bytes of one */
#define PAGE_LANGS_MAX 32

struct page_lang {
    char tag[17];
    char *text[PT_COUNT][PLURAL_COUNT]; /* owned; NULL: as PLURAL_OTHER, which is always there */
    unsigned group;                     /* digits from which they are grouped by threes */
    enum page_plural (*plural)(uint64_t n);
};

extern const char *const page_text_names[PT_COUNT];
extern const bool page_text_script[PT_COUNT]; /* texts marked J */

/* The text; of one with a number, its form for n. */
const char *page_text(const struct page_lang *l, enum page_text_id id);

/* tag: as in the file's name. 0; SQ_EINVAL with a sentence; SQ_ENOMEM. */
SQ_CHECK int page_lang_read(struct page_lang *l, const char *tag, const char *json, size_t n,
                            struct err *e);
/* Each text has the numbers and the like that it has in `of`: {n}, {t}, {eta}. A form of a plural
 * may leave its number out ("one minute"). 0 or SQ_EINVAL. */
SQ_CHECK int page_lang_like(const struct page_lang *l, const struct page_lang *of, struct err *e);
void page_lang_fini(struct page_lang *l);

/* ---- numbers and times in the reader's language, appended to b ---- */

/* 1234567 -> 1,234,567, or what this language puts between. In page.js Intl.NumberFormat does. */
void page_put_number(const struct page_lang *l, struct buf *b, uint64_t v);
/* The text with {n} put in. */
void page_put_filled(const struct page_lang *l, struct buf *b, enum page_text_id id, uint64_t n);
/* "about 5 minutes"; below 0: not known */
void page_put_eta(const struct page_lang *l, struct buf *b, int64_t eta_s);
/* For how long a place is kept without its page; nothing if that is less than a minute, or not known. */
void page_put_kept(const struct page_lang *l, struct buf *b, uint32_t s);
/* The steps of page_put_eta(), as page.js reads them: members of a list. */
void page_put_eta_steps(struct buf *b);

#endif
