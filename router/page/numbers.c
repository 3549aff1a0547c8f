/* numbers.c: see the header. */
#include "router/page/numbers.h"

#include <stdio.h>
#include <string.h>

void page_put_number(const struct page_lang *l, struct buf *b, uint64_t v)
{
    char t[32];
    int n = snprintf(t, sizeof(t), "%llu", (unsigned long long)v);

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && n >= (int)l->group)
            buf_str(b, page_text(l, PT_thousands));
        buf_byte(b, (uint8_t)t[i]);
    }
}

void page_put_filled(const struct page_lang *l, struct buf *b, enum page_text_id id, uint64_t n)
{
    const char *text = page_text_for(l, id, n);

    while (*text != '\0') {
        if (strncmp(text, "{n}", 3) == 0) {
            page_put_number(l, b, n);
            text += 3;
        } else {
            buf_byte(b, (uint8_t)*text++);
        }
    }
}

/* The steps of an estimate, in minutes: below `below` (0: the rest), rounded to `step`, said in
 * units of `unit`. */
static const struct {
    unsigned below, step, unit;
    enum page_text_id text;
} eta_steps[] = {
    { 1, 1, 1, PT_eta_soon },
    { 10, 1, 1, PT_eta_minutes },
    { 58, 5, 1, PT_eta_minutes },
    { 0, 60, 60, PT_eta_hours },
};

void page_put_eta(const struct page_lang *l, struct buf *b, int64_t eta_s)
{
    uint64_t minutes = eta_s > 0 ? ((uint64_t)eta_s + 30) / 60 : 0, n;
    size_t i = 0;

    if (eta_s < 0) {
        buf_str(b, page_text(l, PT_eta_unknown));
        return;
    }
    while (eta_steps[i].below != 0 && minutes >= eta_steps[i].below)
        i++;
    n = (minutes + eta_steps[i].step / 2) / eta_steps[i].step * eta_steps[i].step;
    page_put_filled(l, b, eta_steps[i].text, n / eta_steps[i].unit);
}

/* Never more than it is: rounded down to what page_put_eta() says exactly. */
static uint32_t kept_s(uint32_t s)
{
    uint32_t step = s < 600 ? 60 : s < 3600 ? 300 : 3600;

    return s - s % step;
}

void page_put_kept(const struct page_lang *l, struct buf *b, uint32_t s)
{
    const char *text = page_text(l, PT_kept), *t = strstr(text, "{t}");

    if (kept_s(s) == 0)
        return;
    buf_append(b, text, t != NULL ? (size_t)(t - text) : strlen(text));
    if (t == NULL)
        return;
    page_put_eta(l, b, kept_s(s));
    buf_str(b, t + 3);
}

void page_put_eta_steps(struct buf *b)
{
    for (size_t i = 0; i < ARRAY_LEN(eta_steps); i++)
        buf_printf(b, "%s[%u,%u,%u,\"%s\"]", i > 0 ? "," : "", eta_steps[i].below,
                   eta_steps[i].step, eta_steps[i].unit, page_text_names[eta_steps[i].text]);
}
