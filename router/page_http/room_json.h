/* room_json.h: the waiting page as JSON, for programs that were written for another waiting room
 * (page_compat: cloudflare): the same URL, cookie and poll, an object `cfWaitingRoom` in place of
 * HTML. Shell.
 *
 * The form is what that room's documentation publishes for apps: `inWaitingRoom` is always true (who
 * is let in gets a redirect to the site, with the pass as a cookie), waits are whole minutes,
 * `refreshIntervalSeconds` says when to ask again. A place is not told there, so neither is it here. A
 * program presses no button: where a place is over, its cookie goes, and the next request joins anew. */
#ifndef SEGQ_ROUTER_ROOM_JSON_H
#define SEGQ_ROUTER_ROOM_JSON_H

#include "router/page/page.h"
#include "router/state/router.h"

/* False: this state has no such form. Else it is in r->ans, but for cookies. */
SQ_CHECK bool room_json_show(struct router *r, const struct page_view *v);

#endif
