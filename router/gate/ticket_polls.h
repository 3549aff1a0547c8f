/* ticket_polls.h: tickets that are polled many times as often as they are told. Pure. Time arrives
 * with each call.
 *
 * Each answer of a poll charges its ticket told / times of the time that passes; a ticket that is
 * ahead of the time by more than it was told is refused until it is not (GCRA). So `times` polls may
 * come at once, then `times` in each told interval: a reload of a page, or a second tab, is no
 * matter. Who is told a shorter interval, since its turn is near, owes no more than that one. The
 * place is kept whatever is refused.
 *
 * A ticket that polls as it is told is never ahead, and costs nothing to lose: the table needs room
 * only for those that poll too often, in sets of four. If a set is full, who is least ahead is lost. */
#ifndef SEGQ_TICKET_POLLS_H
#define SEGQ_TICKET_POLLS_H

#include "common/base/base.h"
#include "common/ticket/token.h"

struct ticket_polls;

/* entries: rounded up to a power of two, 16 bytes each, touched as they are used. NULL: no memory. */
struct ticket_polls *ticket_polls_new(size_t entries);
void ticket_polls_free(struct ticket_polls *p);

/* 0: go on; else it polls too often: the ms after which it may again. */
SQ_CHECK uint32_t ticket_polls_over_ms(const struct ticket_polls *p, const struct token *t, msec_t now_ms);
/* A poll was answered; told_ms: when the next one is due. times: from 1 on. */
void ticket_polls_told(struct ticket_polls *p, const struct token *t, uint32_t told_ms, uint32_t times,
                       msec_t now_ms);

#endif
