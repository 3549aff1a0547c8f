/* metrics.c: see metrics.h. */
#include "router/service/metrics.h"

#include "common/net/tls_server.h"
#include "common/supervisor/metrics_process.h"
#include "router/links/flows.h"
#include "router/links/mng_link.h"
#include "router/task_requests/ask.h"

#define ROW(name, kind, member, help) \
    METRIC_ROW("segq_router_" name, kind, struct router_counts, member, help)

static const struct metric_row own[] = {
    ROW("joins_total", COUNTER, joins, "Joins accepted for processing"),
    ROW("polls_total", COUNTER, polls, "Polls accepted for processing"),
    ROW("leaves_total", COUNTER, leaves, "Leaves accepted for processing"),
    ROW("passes_verified_total", COUNTER, verified, "Passes accepted by /v1/verify"),
    ROW("passes_refused_total", COUNTER, verify_refused,
        "Requests to /v1/verify answered 401 or 403"),
    ROW("pass_signatures_total", COUNTER, pass_checks,
        "Pass signatures verified; the rest came from the cache"),
    ROW("forged_tokens_total", COUNTER, forged, "Tokens that are not ours or are malformed"),
    ROW("other_device_total", COUNTER, other_device,
        "Tickets and passes refused since another device showed them"),
    ROW("unavailable_total", COUNTER, unavailable, "Requests answered with queue_unavailable"),
    ROW("full_total", COUNTER, full, "Requests answered with queue_full"),
    ROW("asks_lost_total", COUNTER, lost,
      "Requests to segment nodes that could not be sent or were lost"),
    ROW("overdue_total", COUNTER, overdue, "Requests that reached their time limit"),
    ROW("waits_total", COUNTER, retries, "Times a request waited for a moment or a newer map"),
    ROW("batches_total", COUNTER, batches, "Frames sent to segment nodes"),
    ROW("batched_requests_total", COUNTER, batched, "Requests in those frames"),
    ROW("maps_total", COUNTER, maps, "Chain map messages applied"),
    ROW("maps_refused_total", COUNTER, maps_refused, "Chain map messages that did not apply"),
    ROW("joins_held_total", COUNTER, held, "Joins whose answer waited for a direct entry"),
    ROW("joins_admitted_total", COUNTER, entered, "Joins that were answered with the pass"),
    ROW("events_total", COUNTER, events, "Events sent to listeners, who are told at once"),
    ROW("listeners_refused_total", COUNTER, listeners_refused,
        "Listeners answered 204, so that they poll: too many, or not over HTTP/1.1"),
    ROW("claims_total", COUNTER, claims, "Joins with a good claim"),
    ROW("claims_refused_total", COUNTER, claims_refused, "Joins refused because of their claim"),
    ROW("sessions_extended_total", COUNTER, extended,
        "Sessions made longer by a backend's command"),
    ROW("passes_used_total", COUNTER, used, "Passes let in once, by the word of their segment"),
    ROW("passes_used_again_total", COUNTER, use_refused, "Passes refused because they were used before"),
    ROW("passes_renewed_total", COUNTER, renewed, "Passes renewed while they were verified"),
    ROW("pass_renewals_failed_total", COUNTER, renew_failed,
      "Failed renewals: node not reached, or session over; the request was let through"),
    ROW("pass_renewals_late_total", COUNTER, renew_late,
      "Renewals given up after 250 ms; the request went on with the old pass"),
    ROW("sessions_ended_total", COUNTER, sessions_ended,
      "Sessions ended by a backend's command: release or revoke"),
    ROW("session_commands_refused_total", COUNTER, sessions_refused,
      "Commands to POST /v1/session answered 400 to 403"),
    ROW("pages_total", COUNTER, pages, "Waiting pages shown"),
    ROW("page_enters_total", COUNTER, page_enters, "People sent on from the page with a pass"),
    ROW("stats_total", COUNTER, stats, "Messages with figures of the queues"),
};

#define LINKS(name, kind, member, help) \
    METRIC_ROW("segq_router_" name, kind, struct rpc_counts, member, help)

static const struct metric_row link_rows[] = { RPC_ROWS(LINKS) };

#define TASKS(name, kind, member, help) \
    METRIC_ROW("segq_router_task_" name, kind, struct tasking_counts, member, help)

static const struct metric_row task_rows[] = {
    TASKS("submitted_total", COUNTER, submitted, "Tasks submitted"),
    TASKS("same_total", COUNTER, same, "Submissions of a task that was there already"),
    TASKS("taken_total", COUNTER, taken, "Tasks given to workers"),
    TASKS("given_back_total", COUNTER, given_back, "Tasks taken for workers that had gone"),
    TASKS("settled_total", COUNTER, settled, "Tasks acknowledged, given back or extended"),
    TASKS("looked_total", COUNTER, looked, "Tasks looked at"),
    TASKS("changed_total", COUNTER, changed, "Tasks changed or cancelled"),
    TASKS("refused_total", COUNTER, refused, "Requests about tasks that nobody may make"),
    TASKS("routed_total", COUNTER, routed, "Calls that a route sent to an endpoint"),
    TASKS("routed_elsewhere_total", COUNTER, elsewhere,
          "Times that a call went on to its route's next endpoint"),
    TASKS("tenants_total", COUNTER, tenants, "Requests of tenants that were let in"),
    TASKS("waits_over_total", COUNTER, waits_over, "Calls that waited for as long as their token says"),
    TASKS("asks_lost_total", COUNTER, lost, "Questions to task nodes that were lost"),
    TASKS("overdue_total", COUNTER, overdue, "Requests about tasks that reached their time limit"),
    TASKS("stale_total", COUNTER, stale, "Answers of task nodes that this router's map is old"),
    TASKS("uploads_total", COUNTER, uploads, "Large bodies of calls that got to their task node, and were submitted"),
    TASKS("uploads_bytes_total", COUNTER, upload_bytes, "Their bytes"),
    TASKS("uploads_given_up_total", COUNTER, uploads_given_up,
          "Large bodies whose client went, or that were refused, amid them"),
    TASKS("long_answers_total", COUNTER, wholes, "Answers longer than a look, passed on whole"),
    TASKS("long_answers_broken_total", COUNTER, wholes_broken,
          "Of these, those that ended before their last byte"),
    TASKS("long_answers_put_off_total", COUNTER, wholes_crowded,
          "Long answers that were not read, since too many were"),
    TASKS("passed_answers_total", COUNTER, passings, "Answers of calls passed on as they came"),
    TASKS("passed_answers_broken_total", COUNTER, passings_broken,
          "Of these, those that ended before their last byte"),
    TASKS("passed_answers_left_total", COUNTER, passings_left,
          "Of these, those whose client left before their last byte"),
    TASKS("passed_answers_followed_total", COUNTER, followings, "Of these, those of readers along, by the result"),
    TASKS("progress_total", COUNTER, progresses, "Calls that were told their places in line"),
    TASKS("passed_answers_bytes_total", COUNTER, passed_bytes, "Their bytes"),
    TASKS("turns_total", COUNTER, turns, "People in line who are told that their turn comes: calls that were made"),
    TASKS("turns_failed_total", COUNTER, turns_failed, "Calls for them that no task node took, to be made again"),
    TASKS("turns_no_way_total", COUNTER, turns_no_way,
          "Of people whose push service is not called (any more): tries, each 30 s as long as their tickets live"),
    TASKS("turns_ended_total", COUNTER, turns_ended,
          "People let in who were not called, since their push service had said that the subscription has ended"),
    TASKS("left_total", COUNTER, left, "Calls in line whose clients closed their connection"),
    TASKS("maps_total", COUNTER, maps, "Maps of pools applied"),
    TASKS("frames_total", COUNTER, frames, "Frames sent to task nodes"),
    TASKS("rows_total", COUNTER, rows, "Questions in those frames"),
};

#define HTTP(name, kind, member, help) \
    METRIC_ROW("segq_router_http_" name, kind, struct httpd_counts, member, help)

static const struct metric_row http[] = {
    HTTP("connections", GAUGE, conns_now, "Public connections open now"),
    HTTP("large_bytes", GAUGE, large_now, "Bytes announced of large bodies on their way"),
    HTTP("accepted_total", COUNTER, accepted, "Public connections accepted"),
    HTTP("refused_total", COUNTER, refused,
      "Public connections closed at once: too many of one address"),
    HTTP("requests_total", COUNTER, requests, "Requests read"),
    HTTP("answers_total", COUNTER, answers, "Answers composed"),
    HTTP("bad_requests_total", COUNTER, bad_requests,
      "Requests refused by the parser"),
    HTTP("aborted_total", COUNTER, aborted, "Clients gone before their answer"),
    HTTP("closed_idle_total", COUNTER, closed_idle, "Closed: idle"),
    HTTP("closed_head_total", COUNTER, closed_head_deadline, "Closed: slow head"),
    HTTP("closed_body_total", COUNTER, closed_body_deadline, "Closed: slow body"),
    HTTP("closed_slow_reader_total", COUNTER, closed_slow_reader,
      "Closed: slow reader"),
    HTTP("closed_peer_total", COUNTER, closed_peer, "Closed by the client"),
    HTTP("closed_error_total", COUNTER, closed_error,
      "Closed: out of memory or limits"),
    HTTP("accept_paused_total", COUNTER, accept_paused,
      "Times accepting was paused"),
    HTTP("received_bytes_total", COUNTER, bytes_in, "Bytes read"),
    HTTP("sent_bytes_total", COUNTER, bytes_out, "Bytes written"),
    HTTP("reads_total", COUNTER, reads, "Read calls"),
    HTTP("writes_total", COUNTER, writes, "Write calls"),
};

static const struct metric_row limit_rows[] = {
    METRIC_ROW("segq_router_limit_addresses", GAUGE, struct limit_counts, addresses,
               "Addresses that are remembered"),
    METRIC_ROW("segq_router_limit_forgotten_total", COUNTER, struct limit_counts, forgotten,
               "Addresses forgotten too early: limit_table_entries is small for this crowd"),
};

static const struct metric_row proxy_rows[] = {
    METRIC_ROW("segq_router_forwarded_malformed_total", COUNTER, struct gate, forwarded_bad,
               "Requests of trusted proxies whose header was malformed"),
    METRIC_ROW("segq_router_forwarded_absent_total", COUNTER, struct gate, forwarded_none,
               "Requests of trusted proxies that named no client"),
};

/* Sums both listeners. */
static struct httpd_counts http_counts(const struct router *r)
{
    struct httpd_counts sum = *httpd_counts(r->httpd), more = { 0 };
    uint64_t v[sizeof(sum) / sizeof(uint64_t)], w[sizeof(sum) / sizeof(uint64_t)];

    _Static_assert(sizeof(v) == sizeof(sum), "all are of 64 bits");
    if (r->httpd_tasks != NULL)
        more = *httpd_counts(r->httpd_tasks);
    memcpy(v, &sum, sizeof(v));
    memcpy(w, &more, sizeof(w));
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        v[i] += w[i];
    memcpy(&sum, v, sizeof(sum));
    return sum;
}

static void by_class(struct buf *b, const struct httpd_counts *n)
{
    static const char *const codes[] = { "2xx", "3xx", "4xx", "5xx" };
    const uint64_t v[] = { n->status_2xx, n->status_3xx, n->status_4xx, n->status_5xx };

    metrics_by(b, "segq_router_http_responses_total", "Answers by class of status", "code", codes,
               v, ARRAY_LEN(v));
}

static void bypassed(struct buf *b, const struct router_counts *n)
{
    metrics_by(b, "segq_router_bypassed_total",
               "Requests let past the room by /v1/verify without a pass, by rule", "rule",
               bypass_names + 1, n->bypassed + 1, BYPASS_NREASONS - 1);
}

static void challenges(struct buf *b, const struct door *d)
{
    static const char *const results[] = { "asked", "too_fast", "spared", "waited", "good",
#define X(name, word, text) word,
                                           CHALLENGE_REFUSALS(X)
#undef X
    };
    uint64_t v[4 + CHALLENGE_NSTATES] = { d->ids, d->too_fast, d->spared, d->waited };

    memcpy(v + 4, d->refused, sizeof(d->refused));
    metrics_by(b, "segq_challenges_total",
               "Joins that were asked for work, or needed none all the same, and answers by what was found",
               "result", results, v, ARRAY_LEN(v));
    metrics_value(b, "segq_challenge_puzzles_total", METRIC_COUNTER,
                  "Derived keys made for challenges: the router's own work", (double)puzzles_made(d->puzzles));
}

static void sites(struct buf *b, const struct router *r)
{
    static const char *const results[SITE_NRESULTS] = { [SITE_ASKED] = "asked", [SITE_GOOD] = "good",
                                                        [SITE_REFUSED] = "refused", [SITE_USED] = "used",
                                                        [SITE_FALLBACK] = "fallback" };

    metrics_by(b, "segq_verify_total",
               "Questions to the services of challenge.verify_url, what they said, tokens that came again, and "
               "joins by verify_fallback", "result", results, r->site_results, SITE_NRESULTS);
}

static void suspects(struct buf *b, const struct router *r)
{
    static const char *const acts[SUSPECT_NACTS] = { [SUSPECT_WORKS] = "work", [SUSPECT_SENT_AWAY] = "refused",
                                                     [SUSPECT_SPARED] = "spared", [SUSPECT_WATCHED] = "watched" };

    metrics_value(b, "segq_suspects", METRIC_GAUGE,
                  "Address prefixes whose joins look like a script's, of all queues, by this router's counts",
                  (double)r->suspects_n);
    metrics_by(b, "segq_suspects_joins_total",
               "Joins of suspects: asked for work, refused, spared (a claim, a pass, a rule), or watched", "act",
               acts, r->suspects_acts, SUSPECT_NACTS);
}

static void limits(struct buf *b, const struct gate *g)
{
    static const char *const budgets[LIMIT_NKINDS + 1] = { [LIMIT_JOIN] = "join",
                                                           [LIMIT_POLL] = "poll",
                                                           [LIMIT_BAD] = "bad",
                                                           [LIMIT_NKINDS] = "ticket" };
    const struct limit_counts *n = limit_counts(g->limit);
    uint64_t refused[LIMIT_NKINDS + 1];

    memcpy(refused, n->refused, sizeof(n->refused));
    refused[LIMIT_NKINDS] = g->ticket_refused;
    metrics_by(b, "segq_router_too_fast_total", "Requests answered with 429, by budget", "budget",
               budgets, refused, ARRAY_LEN(refused));
    metrics_rows(b, limit_rows, ARRAY_LEN(limit_rows), n);
    metrics_rows(b, proxy_rows, ARRAY_LEN(proxy_rows), g);
}

/* Rows that found no room: such a pass is good until it expires by itself. */
static void passes(struct buf *b, const struct router *r)
{
    static const char *const what[] = { "ended", "extended" };
    const uint64_t v[] = { r->revoked.lost, r->extended.lost };

    metrics_by(b, "segq_router_passes_forgotten_total",
               "Ended or extended passes that this router has no room to know of", "what", what, v,
               ARRAY_LEN(v));
}

static void polls(struct buf *b, const struct replicas *k, msec_t now_ms)
{
    metrics_by(b, "segq_router_polls_by_total",
               "Polls that the replica answered (replica; last_known, no_place, left: its node could not be "
               "asked), or why the segment node was asked", "by",
               replica_by_names, k->polls, REPLICA_NBY);
    metrics_value(b, "segq_router_replica_bytes", METRIC_GAUGE,
                  "Memory of the replica of segment nodes' lines", (double)k->pool.n_bytes);
    metrics_value(b, "segq_router_replica_marks", METRIC_GAUGE,
                  "Polls answered from the replica of which the node does not know yet",
                  (double)replicas_marks(k));
    metrics_value(b, "segq_router_replica_age_seconds", METRIC_GAUGE,
                  "Age of what the replica has of the segment node whose last word is the oldest",
                  (double)replicas_oldest_ms(k, now_ms) / 1000);
}

static void gauge(struct buf *b, const char *name, const char *help, uint64_t v)
{
    metrics_value(b, name, METRIC_GAUGE, help, (double)v);
}

static void tasks(struct buf *b, const struct tasking *t)
{
    size_t up, of;

    if (t == NULL)
        return;
    metrics_rows(b, task_rows, ARRAY_LEN(task_rows), &t->counts);
    node_links_count(&t->links, &up, &of);
    gauge(b, "segq_router_task_nodes", "Task nodes in the map", of);
    gauge(b, "segq_router_task_nodes_up", "Task nodes reached", up);
    gauge(b, "segq_router_task_passing_answers", "Answers of calls being passed on as they come",
          t->passings.n);
    gauge(b, "segq_router_task_requests", "Requests about tasks being answered", t->calls.n);
}

void router_metrics(void *router, struct buf *b)
{
    const struct router *r = router;
    struct httpd_counts all = http_counts(r);
    size_t up, of;

    metrics_rows(b, own, ARRAY_LEN(own), &r->counts);
    metrics_rows(b, link_rows, ARRAY_LEN(link_rows), rpc_counts(r->rpc));
    metrics_rows(b, http, ARRAY_LEN(http), &all);
    by_class(b, &all);
    httpd_tls_metrics(b, "segq_router_http_", &all, tls_server_lapses_s(r->tls));
    bypassed(b, &r->counts);
    limits(b, &r->gate);
    challenges(b, &r->door);
    suspects(b, r);
    sites(b, r);
    passes(b, r);
    polls(b, &r->replicas, ev_now(r->ev));
    tasks(b, r->tasking);
    gauge(b, "segq_router_passes_ended", "Ended passes that are refused until they expire",
          r->revoked.n);
    seg_links_count(r->segs, &up, &of);
    gauge(b, "segq_router_segment_nodes", "Segment nodes in the chain map", of);
    gauge(b, "segq_router_segment_nodes_up", "Segment nodes reached", up);
    gauge(b, "segq_router_managers_up", "Managers reached", mng_links_up(r->mngs));
    gauge(b, "segq_router_map_version", "Version of the chain map",
          routes_version(r->routes));
    gauge(b, "segq_router_map_epoch", "Epoch of the chain map", routes_epoch(r->routes));
    gauge(b, "segq_router_unknown_queues", "Names in groups, gate_rules, rooms and aws_events that no queue has", r->names.n);
    gauge(b, "segq_router_listeners", "Clients that are told at once", r->listeners.n);
    gauge(b, "segq_router_task_listeners", "Clients that are told at once what becomes of their tasks", r->watches);
    gauge(b, "segq_router_flows", "Requests being answered", r->flows.n);
    metrics_histo(b, "segq_router_join_seconds", "Time to answer a join", &r->join_us);
    metrics_histo(b, "segq_router_poll_seconds", "Time to answer a poll", &r->poll_us);
    metrics_histo(b, "segq_router_leave_seconds", "Time to answer a leave",
                  &r->leave_us);
    metrics_process(b, "router", r->cfg->region, r->cfg->zone);
}
