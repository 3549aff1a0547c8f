/* render.c: a view to the page's HTML.
 *
 * page.js shows the same figures as put_position(), set_place() and put_number() here, and has to:
 * a poll answers with numbers alone (it is the hot path, and knows no language), while a page
 * without scripts asks for the whole document. The rules are here only, and put_data() gives them
 * to the script: the texts, the steps of an estimate, the thousands' separator. */
#include "router/page/render.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "router/page/texts.h"

#define FIELD_S      30  /* seconds, at least, to fill a field in */
#define BAR_LEAST    2   /* percent: an empty bar looks like a broken one */

/* A heading and the sentence below it. */
static const struct {
    const char *name;
    enum page_text_id heading, say;
    enum page_slot_id can; /* the form that it has; 0: none */
} states[PAGE_NSTATES] = {
    [PAGE_WAITING] = { "waiting", PT_waiting, PT_keep, PS_can_leave },
    [PAGE_DOOR] = { "door", PT_door, PT_door_say, PS_can_join },
    [PAGE_TURN] = { "turn", PT_turn, PT_turn_say, PS_can_enter },
    [PAGE_EXPIRED] = { "expired", PT_expired, PT_expired_say, PS_can_join },
    [PAGE_NO_SHOW] = { "no_show", PT_no_show, PT_no_show_say, PS_can_join },
    [PAGE_LOST] = { "lost", PT_lost, PT_lost_say, PS_can_join },
    [PAGE_LEFT] = { "left", PT_left, PT_left_say, PS_can_join },
    [PAGE_EARLY] = { "early", PT_early, PT_early_say, PS_can_retry },
    [PAGE_REJECT] = { "reject", PT_reject, PT_reject_say, PS_can_retry },
    [PAGE_CLOSED] = { "closed", PT_closed, PT_closed_say, PS_can_retry },
    [PAGE_FULL] = { "full", PT_full, PT_full_say, PS_can_retry },
    [PAGE_UNAVAILABLE] = { "unavailable", PT_unavailable, PT_unavailable_say, PS_can_retry },
    [PAGE_TOO_FAST] = { "too_fast", PT_too_fast, PT_too_fast_say, PS_can_retry },
    [PAGE_NO_QUEUE] = { "no_queue", PT_no_queue, PT_no_queue_say, 0 },
    [PAGE_OTHER_DEVICE] = { "other_device", PT_other_device, PT_other_device_say, PS_can_join },
    [PAGE_REFUSED] = { "refused", PT_refused, PT_refused_say, PS_can_join },
    [PAGE_START] = { "start", PT_start, PT_start_say, 0 },
    [PAGE_IN] = { "in", PT_in, PT_in_say, 0 },
    [PAGE_COOKIES] = { "cookies", PT_cookies, PT_cookies_say, PS_can_join },
    [PAGE_WORK] = { "work", PT_work, PT_work_say, PS_can_join },
    [PAGE_CHECK] = { "check", PT_check, PT_check_say, PS_can_join },
    [PAGE_PLACES] = { "places", PT_places, PT_places_say, PS_can_leave },
};

/* ---- the data of the script ---- */

static void put_member(struct buf *b, const char *name, const char *v, size_t n)
{
    buf_str(b, ",\"");
    buf_str(b, name);
    buf_str(b, "\":");
    page_put_json(b, v, n);
}

static void put_num_member(struct buf *b, const char *name, int64_t v)
{
    buf_str(b, ",\"");
    buf_str(b, name);
    buf_str(b, "\":");
    buf_i64(b, v);
}

/* Until the opening, at least one; 0: that is not what it waits for. */
static int64_t opens_s(const struct page_view *v)
{
    int64_t left_ms = v->opens_ms - v->wall_ms;

    return v->opens_ms == 0 ? 0 : left_ms > 1000 ? (left_ms + 999) / 1000 : 1;
}

/* People who are early have no place yet. */
static bool is_prequeue(const struct page_view *v)
{
    return v->state == PAGE_WAITING && v->opens_ms != 0 && v->position == 0;
}

/* True: its place is kept while nobody is let in. */
static bool is_held(const struct page_view *v)
{
    return v->state == PAGE_WAITING && v->paused && !is_prequeue(v);
}

/* True: its script shows the texts that may change. */
static bool waits(const struct page_view *v)
{
    return v->state == PAGE_WAITING || v->state == PAGE_PLACES;
}

static void put_data(const struct page *p, struct buf *b, const struct page_view *v)
{
    const struct page_lang *l = &p->lang[v->lang];

    buf_str(b, "{\"state\":");
    page_put_json(b, states[v->state].name, strlen(states[v->state].name));
    put_member(b, "lang", l->tag, strlen(l->tag));
    put_member(b, "queue", v->queue, strlen(v->queue));
    put_num_member(b, "position", (int64_t)v->position);
    put_num_member(b, "total", (int64_t)v->total);
    put_num_member(b, "position_capped", v->capped);
    put_num_member(b, "start", (int64_t)v->start);
    put_num_member(b, "eta_s", v->eta_s);
    put_num_member(b, "after", v->poll_after_ms);
    put_num_member(b, "page", v->version);
    put_num_member(b, "paused", v->paused);
    put_num_member(b, "preview", v->preview != NULL);
    put_num_member(b, "opens", opens_s(v));
    put_num_member(b, "opens_at", v->opens_ms / 1000);
    if (v->challenge.n > 0) { /* ours: nothing in it ends a script */
        put_num_member(b, "keys", (int64_t)v->keys);
        buf_str(b, ",\"challenge\":");
        buf_append(b, v->challenge.p, v->challenge.n);
    }
    if (v->proof != NULL)
        put_member(b, "proof", v->proof, strlen(v->proof));
    if (v->proof != NULL && v->token != NULL)
        put_member(b, "token", v->token, TOKEN_TEXT_LEN);
    buf_str(b, ",\"eta_steps\":[");
    if (v->state == PAGE_WAITING)
        page_put_eta_steps(b);
    buf_str(b, waits(v) ? "]" : "],\"t\":{}}");
}

/* ---- values ---- */

/* Everything that is composed lies in one buffer; values point into it when it is whole. */
struct values {
    struct buf mem;
    size_t used; /* parts of mem: they are values */
    struct {
        size_t at, n;
    } made[PS_COUNT];
    struct page_str v[PS_COUNT];
};

static struct page_str str(const char *s)
{
    return (struct page_str) { .p = s, .n = strlen(s) };
}

/* Takes what was appended since the last one as the value of s. */
static void made(struct values *x, enum page_slot_id s)
{
    assert(x->made[s].n == 0);
    x->made[s].at = x->used;
    x->made[s].n = x->mem.len - x->used;
    x->used = x->mem.len;
}

static uint64_t percent(const struct page_view *v)
{
    if (v->start == 0 || v->position == 0 || v->position > v->start)
        return 0;
    assert(v->start >= v->position);
    return (v->start - v->position) * 100 / v->start;
}

static void put_position(const struct page_lang *l, struct buf *b, const struct page_view *v)
{
    page_put_number(l, b, v->position);
    if (v->capped)
        buf_str(b, "+");
}

static void set_place(const struct page *p, struct values *x, const struct page_view *v)
{
    const struct page_lang *l = &p->lang[v->lang];

    x->v[PS_waiting] = str("1");
    if (v->position > 0)
        put_position(l, &x->mem, v);
    else
        buf_str(&x->mem, page_text(l, is_prequeue(v) ? PT_drawn : PT_unknown));
    made(x, PS_position);
    if (v->position > 0 && !v->capped)
        page_put_filled(l, &x->mem, PT_of, v->total);
    made(x, PS_of);
    if (is_prequeue(v))
        page_put_eta(l, &x->mem, opens_s(v));
    else if (!v->paused)
        page_put_eta(l, &x->mem, v->eta_s);
    made(x, PS_eta);
    page_put_kept(l, &x->mem, v->kept_s);
    made(x, PS_kept);
    x->v[PS_wait] = str(page_text(l, is_prequeue(v) ? PT_opens : PT_wait));
    buf_u64(&x->mem, percent(v) > BAR_LEAST ? percent(v) : BAR_LEAST);
    made(x, PS_percent);
    if (v->paused)
        x->v[PS_paused] = str(page_text(l, PT_paused));
}

/* People who want to be told: by a button of the script's, or in a field. */
static void set_told(const struct page *p, struct values *x, const struct page_view *v)
{
    const struct page_lang *l = &p->lang[v->lang];
    bool email = v->field == TURN_FIELD_EMAIL;

    if (v->push_key != NULL && v->push_key[0] != 0) {
        x->v[PS_push] = str(v->push_key);
        x->v[PS_tell] = (struct page_str) { .ready = &p->tell };
    }
    if (v->field != TURN_FIELD_NONE) {
        x->v[PS_reach] = str(page_text(l, email ? PT_email : PT_reach));
        x->v[PS_reach_type] = str(email ? "email" : "text");
    }
    if (v->told != TOLD_NOTHING)
        x->v[PS_told] = str(page_text(l, v->told == TOLD_YES ? PT_told : PT_push_no));
}

static void put_ticket(struct buf *b, seg_id seg, uint32_t number)
{
    buf_u64(b, seg);
    buf_byte(b, '-');
    buf_u64(b, number);
}

static void set_ticket(struct values *x, const struct page_view *v)
{
    put_ticket(&x->mem, v->ticket_seg, v->ticket_number);
    made(x, PS_ticket);
}

/* ---- several lines ---- */

/* Puts what is to be said beside its number. */
static void put_place_words(const struct page_lang *l, struct buf *b, const struct page_place *o)
{
    if (o->state == PAGE_UNAVAILABLE)
        buf_str(b, page_text(l, PT_unknown));
    else if (o->state != PAGE_WAITING)
        buf_str(b, page_text(l, states[o->state].heading));
    else if (o->paused || o->early)
        buf_str(b, page_text(l, o->paused ? PT_held : PT_drawn));
    else
        page_put_eta(l, b, o->eta_s);
}

/* In a page of its own: this one holds the other places. */
static void put_enter(const struct page_lang *l, struct buf *b, const struct page_view *v,
                      const struct page_place *o)
{
    const char *enter = page_text(l, PT_enter);

    buf_printf(b, "<form method=\"post\" action=\"/q/%s/enter\" target=\"_blank\">"
                  "<input type=\"hidden\" name=\"queue\" value=\"%s\">"
                  "<input type=\"hidden\" name=\"return\" value=\"", v->queue, o->queue);
    page_put_html(b, v->target, strlen(v->target));
    buf_str(b, "\"><button class=\"main\">");
    page_put_html(b, enter, strlen(enter));
    buf_str(b, "</button></form>");
}

static void put_place(const struct page_lang *l, struct buf *b, const struct page_view *v,
                      const struct page_place *o)
{
    const char *title = page_words_for(o->def, l->tag).title;
    struct buf words = { 0 };

    title = title[0] != '\0' ? title : o->queue;
    buf_str(b, "<div><dt dir=\"auto\">");
    page_put_html(b, title, strlen(title));
    buf_str(b, "</dt><dd>");
    if (o->position > 0) {
        buf_str(b, "<b>");
        page_put_number(l, b, o->position);
        buf_str(b, "</b> ");
    }
    put_place_words(l, &words, o);
    buf_str(b, "<small>");
    page_put_html(b, (const char *)words.data, words.len);
    buf_str(b, "</small>");
    if (o->state == PAGE_TURN)
        put_enter(l, b, v, o);
    buf_str(b, "</dd></div>");
    b->failed |= words.failed;
    buf_fini(&words);
}

static void set_places(const struct page *p, struct values *x, const struct page_view *v)
{
    for (size_t i = 0; i < v->n_places; i++)
        put_place(&p->lang[v->lang], &x->mem, v, &v->places[i]);
    made(x, PS_places);
    for (size_t i = 0; i < v->n_places; i++) {
        buf_str(&x->mem, i > 0 ? ", " : "");
        put_ticket(&x->mem, v->places[i].ticket_seg, v->places[i].ticket_number);
    }
    made(x, PS_ticket);
}

void page_put_path(struct buf *b, const char *queue, const char *flag, const char *target)
{
    buf_str(b, "/q/");
    buf_str(b, queue);
    buf_str(b, flag);
    buf_str(b, flag[0] == '?' ? "&return=" : "?return=");
    buf_escaped(b, target, strlen(target), "-._~");
}

void page_put_claim(struct buf *b, const char *claim, size_t n)
{
    if (n == 0)
        return;
    buf_str(b, "&claim=");
    buf_escaped(b, claim, n, "-._~");
}

/* For browsers without scripts. A ticket comes with its cookie; without one the page may join. */
static void set_refresh(const struct page *p, struct values *x, const struct page_view *v)
{
    uint32_t s = (v->poll_after_ms + 999) / 1000;

    if (v->poll_after_ms == 0)
        return;
    if (s < 2)
        s = 2;
    if (v->field != TURN_FIELD_NONE && s < FIELD_S) /* somebody may be writing */
        s = FIELD_S;
    buf_u64(&x->mem, s);
    buf_str(&x->mem, "; url=");
    page_put_path(&x->mem, v->queue, waits(v) ? "?r=1" : "", v->target);
    if (!waits(v))
        page_put_claim(&x->mem, v->claim, v->claim_len);
    made(x, PS_refresh);
    page_put_filled(&p->lang[v->lang], &x->mem, PT_refresh, s);
    made(x, PS_refresh_s);
}

/* Black or white, whichever is easier to read on the accent. */
static const char *on_colour(const char *accent)
{
    unsigned r, g, b;

    if (sscanf(accent, "#%2x%2x%2x", &r, &g, &b) != 3)
        return "#ffffff";
    return 299 * r + 587 * g + 114 * b > 128000 ? "#111111" : "#ffffff";
}

static void set_words(const struct page *p, struct values *x, const struct page_view *v)
{
    const struct page_lang *l = &p->lang[v->lang];
    struct page_words w = page_words_for(v->def, l->tag);
    enum page_text_id heading = is_prequeue(v) ? PT_prequeue :
                                is_held(v)     ? PT_held :
                                                 states[v->state].heading;

    x->v[PS_title] = str(w.title[0] != '\0' ? w.title : page_text(l, PT_title));
    page_put_message(&x->mem, v->message, &w);
    made(x, PS_message);
    x->v[PS_heading] = str(page_text(l, heading));
    x->v[PS_say] = str(page_text(l, is_prequeue(v) ? PT_prequeue_say :
                                    v->keeps       ? PT_places_keep :
                                                     states[v->state].say));
    if (v->state == PAGE_EARLY && v->opens_ms != 0) {
        page_put_eta(l, &x->mem, opens_s(v));
        made(x, PS_opens);
    }
    if (v->state == PAGE_WAITING && v->position > 0) {
        put_position(l, &x->mem, v);
        buf_str(&x->mem, " · ");
    } else if (v->state != PAGE_WAITING) {
        buf_str(&x->mem, page_text(l, heading));
        buf_str(&x->mem, " · ");
    }
    buf_append(&x->mem, x->v[PS_title].p, x->v[PS_title].n);
    made(x, PS_tab);
    if (v->def == NULL)
        return;
    x->v[PS_logo] = str(v->def->logo);
    x->v[PS_image] = str(v->def->image != NULL ? v->def->image : "");
    x->v[PS_own_style].ready = v->style;
    if (page_accent_ok(v->def->accent)) {
        x->v[PS_accent] = str(v->def->accent);
        x->v[PS_on_accent] = str(on_colour(v->def->accent));
    }
}

/* A member of the draw, as our managers write it; none: "". */
static struct page_str draw_hex(const char *draw, const char *member)
{
    const char *at = draw != NULL ? strstr(draw, member) : NULL;

    if (at == NULL)
        return str("");
    at += strlen(member);
    return (struct page_str) { .p = at, .n = strspn(at, "0123456789abcdef") };
}

/* True: it will draw, or has drawn; a ticket from after the opening has no draw to check. */
static bool draws(const struct page_view *v)
{
    char segment[40];

    if (is_prequeue(v))
        return true;
    snprintf(segment, sizeof(segment), "\"segment\":%llu,", (unsigned long long)v->ticket_seg);
    return v->draw != NULL && strstr(v->draw, segment) != NULL;
}

/* For people who check the draw later. */
static void set_draw(struct values *x, const struct page_view *v)
{
    x->v[PS_commitment] = draw_hex(v->draw, "\"commitment\":\"");
    x->v[PS_seed] = draw_hex(v->draw, "\"seed\":\"");
}

/* Values of the page at "/" alone. */
static void set_front(const struct page *p, struct values *x, const struct page_view *v)
{
    if (v->state == PAGE_IN) {
        page_put_eta(&p->lang[v->lang], &x->mem, v->good_for_s);
        made(x, PS_good_for);
    }
    for (size_t i = 0; i < v->n_rooms; i++)
        buf_printf(&x->mem, "<li><a href=\"/q/%s\">%s</a></li>", v->rooms[i], v->rooms[i]);
    made(x, PS_rooms);
}

static void set_acts(const struct page *p, struct values *x, const struct page_view *v)
{
    enum page_slot_id can = states[v->state].can;

    if (v->state != PAGE_START && v->state != PAGE_IN && can != PS_can_leave &&
        can != PS_can_enter)
        x->v[PS_back] = str(v->target);
    if (v->queue[0] == '\0')
        return;
    buf_str(&x->mem, "/q/");
    buf_str(&x->mem, v->queue);
    made(x, PS_path);
    if (can != 0)
        x->v[can] = str("1");
    if (can == PS_can_leave || can == PS_can_retry) /* an address to load again without effect */
        x->v[PS_languages] = (struct page_str) { .p = (const char *)p->languages.data,
                                                 .n = p->languages.len };
}

/* In a preview there is no widget: it would be asked for nothing. */
static void set_check(const struct page *p, struct values *x, const struct page_view *v)
{
    struct page_widget w;

    if (v->preview != NULL || !page_widget_of(v->def, &w))
        return;
    x->v[PS_widget] = str(w.script);
    x->v[PS_widget_class] = str(w.class);
    x->v[PS_widget_key] = str(v->def->check_key);
    x->v[PS_work] = (struct page_str) { .ready = &p->check };
}

static void set_all(const struct page *p, struct values *x, const struct page_view *v)
{
    const struct page_lang *l = &p->lang[v->lang];

    for (int i = 0; i < PT_COUNT; i++)
        x->v[PS_COUNT - PT_COUNT + i] = str(page_text(l, (enum page_text_id)i));
    x->v[PS_lang] = str(l->tag);
    x->v[PS_state] = str(is_prequeue(v) ? "waiting early" :
                         is_held(v)     ? "waiting held" :
                                          states[v->state].name);
    x->v[PS_nonce] = str(v->nonce);
    x->v[PS_style] = (struct page_str) { .ready = &p->style };
    x->v[PS_script] = (struct page_str) { .ready = &p->script };
    if (v->state == PAGE_CHECK)
        set_check(p, x, v);
    else if (v->state == PAGE_WORK)
        x->v[PS_work] = (struct page_str) { .ready = &p->work };
    else if (v->state == PAGE_PLACES)
        x->v[PS_work] = (struct page_str) { .ready = &p->places };
    if (v->proof != NULL) {
        x->v[PS_proof] = str(v->proof);
        x->v[PS_prover] = (struct page_str) { .ready = &p->prover };
    }
    x->v[PS_target] = str(v->target);
    x->v[PS_door] = str(v->state == PAGE_DOOR || v->door ? "1" : "");
    if (v->key != NULL && states[v->state].can == PS_can_join)
        x->v[PS_key] = str(v->key);
    if (v->ask != NULL)
        x->v[PS_ask] = str(v->ask);
    x->v[PS_claim] = (struct page_str) { .p = v->claim, .n = v->claim_len, .apart = true };
    if (v->preview != NULL)
        x->v[PS_preview] = str(v->preview);
    if (v->token != NULL)
        x->v[PS_token] = (struct page_str) { .p = v->token, .n = TOKEN_TEXT_LEN, .apart = true };
    if (v->state == PAGE_WAITING) {
        set_place(p, x, v);
        set_told(p, x, v);
    }
    if (v->state == PAGE_WAITING || v->state == PAGE_OTHER_DEVICE)
        set_ticket(x, v);
    if (v->state == PAGE_PLACES)
        set_places(p, x, v);
    if (v->state == PAGE_WAITING && draws(v))
        set_draw(x, v);
    set_refresh(p, x, v);
    set_words(p, x, v);
    set_acts(p, x, v);
    set_front(p, x, v);
    put_data(p, &x->mem, v);
    made(x, PS_data);
    if (waits(v)) /* the rest of it */
        x->v[PS_data].ready = &p->texts[v->lang];
}

static void put_document(const struct page *p, struct buf *b, const struct page_view *v,
                         struct page_cuts *cuts)
{
    struct values x = { 0 };

    assert(v->state < PAGE_NSTATES && v->lang < p->n_langs);
    assert(v->nonce != NULL && v->target != NULL);
    buf_init(&x.mem);
    set_all(p, &x, v);
    b->failed |= x.mem.failed;
    for (int i = 0; !x.mem.failed && i < PS_COUNT; i++)
        if (x.made[i].n > 0) {
            x.v[i].p = (const char *)x.mem.data + x.made[i].at;
            x.v[i].n = x.made[i].n;
        }
    page_tmpl_put(p->tmpl, b, x.v, cuts);
    buf_fini(&x.mem);
}

void page_put(const struct page *p, struct buf *b, const struct page_view *v)
{
    put_document(p, b, v, NULL);
}

void page_put_gzip(const struct page *p, struct buf *b, const struct page_view *v)
{
    struct page_cuts cuts = { .n = 0 };
    struct buf whole = { 0 };
    size_t from = 0;

    put_document(p, &whole, v, &cuts);
    gzip_begin(p->gzip, b);
    for (size_t i = 0; i < cuts.n && !whole.failed; i++) {
        const struct page_cut *c = &cuts.v[i];

        assert(c->at >= from && c->at + c->plain <= whole.len);
        gzip_put(p->gzip, whole.data + from, c->at - from);
        if (c->plain > 0)
            gzip_put_plain(p->gzip, whole.data + c->at, c->plain);
        if (c->ready != NULL)
            gzip_put_ready(p->gzip, c->ready);
        from = c->at + c->plain;
    }
    gzip_put(p->gzip, whole.data + from, whole.len - from);
    gzip_end(p->gzip);
    b->failed |= whole.failed;
    buf_fini(&whole);
}
