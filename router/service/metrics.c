/* metrics.c: see metrics.h. */
#include "router/service/metrics.h"

#include "common/supervisor/metrics_process.h"
#include "router/links/mng_link.h"
#include "router/links/seg_ask.h"

#define C(field, name, help)                                                             \
    {                                                                                    \
        "segq_router_" name, METRIC_COUNTER, help, offsetof(struct router_counts, field) \
    }

static const struct metric_row own[] = {
    C(joins, "joins_total", "Joins taken on."),
    C(polls, "polls_total", "Polls taken on."),
    C(leaves, "leaves_total", "Leaves taken on."),
    C(verified, "passes_verified_total", "Passes let in by /v1/verify."),
    C(verify_refused, "passes_refused_total", "Questions to /v1/verify answered 401 or 403."),
    C(pass_checks, "pass_signatures_total", "Signatures looked at; others were remembered."),
    C(forged, "forged_tokens_total", "Tokens that are not ours or are malformed."),
    C(unavailable, "unavailable_total", "Requests answered with queue_unavailable."),
    C(full, "full_total", "Requests answered with queue_full."),
    C(lost, "asks_lost_total",
      "Questions to segments that could not be asked or were lost."),
    C(overdue, "overdue_total", "Requests that reached their time limit."),
    C(retries, "waits_total", "Times a request waited for a moment or a newer map."),
    C(batches, "batches_total", "Frames sent to segment nodes."),
    C(batched, "batched_requests_total", "Requests in those frames."),
    C(maps, "maps_total", "Chain map messages applied."),
    C(maps_refused, "maps_refused_total", "Chain map messages that did not apply."),
    C(held, "joins_held_total", "Joins whose answer waited for a direct entry."),
    C(entered, "joins_admitted_total", "Joins that were answered with the pass."),
    C(claims, "claims_total", "Joins with a good claim."),
    C(claims_refused, "claims_refused_total", "Joins refused because of their claim."),
    C(extended, "sessions_extended_total", "Sessions made longer by a backend's command."),
    C(renewed, "passes_renewed_total", "Passes renewed while they were verified."),
    C(renew_failed, "pass_renewals_failed_total",
      "Renewals that came to nothing: node not reached, or session over; nobody was refused."),
    C(renew_late, "pass_renewals_late_total",
      "Renewals given up after 250 ms; the request went on with the old pass."),
    C(sessions_ended, "sessions_ended_total",
      "Sessions ended by a backend's command: release or revoke."),
    C(sessions_refused, "session_commands_refused_total",
      "Commands to POST /v1/session answered 400 to 403."),
    C(pages, "pages_total", "Waiting pages shown."),
    C(page_enters, "page_enters_total", "People sent on from the page with a pass."),
    C(stats, "stats_total", "Messages with figures of the queues."),
};

#define H(field, kind, name, help)                                                       \
    {                                                                                    \
        "segq_router_http_" name, kind, help, offsetof(struct httpd_counts, field)       \
    }

static const struct metric_row http[] = {
    H(conns_now, METRIC_GAUGE, "connections", "Public connections open now."),
    H(accepted, METRIC_COUNTER, "accepted_total", "Public connections accepted."),
    H(refused, METRIC_COUNTER, "refused_total",
      "Public connections closed at once: too many of one address."),
    H(requests, METRIC_COUNTER, "requests_total", "Requests read."),
    H(answers, METRIC_COUNTER, "answers_total", "Answers composed."),
    H(bad_requests, METRIC_COUNTER, "bad_requests_total",
      "Requests refused by the parser."),
    H(aborted, METRIC_COUNTER, "aborted_total", "Clients gone before their answer."),
    H(closed_idle, METRIC_COUNTER, "closed_idle_total", "Closed: idle."),
    H(closed_head_deadline, METRIC_COUNTER, "closed_head_total", "Closed: slow head."),
    H(closed_body_deadline, METRIC_COUNTER, "closed_body_total", "Closed: slow body."),
    H(closed_slow_reader, METRIC_COUNTER, "closed_slow_reader_total",
      "Closed: slow reader."),
    H(closed_peer, METRIC_COUNTER, "closed_peer_total", "Closed by the client."),
    H(closed_error, METRIC_COUNTER, "closed_error_total",
      "Closed: out of memory or limits."),
    H(accept_paused, METRIC_COUNTER, "accept_paused_total",
      "Times accepting was paused."),
    H(bytes_in, METRIC_COUNTER, "received_bytes_total", "Bytes read."),
    H(bytes_out, METRIC_COUNTER, "sent_bytes_total", "Bytes written."),
    H(reads, METRIC_COUNTER, "reads_total", "Read calls."),
    H(writes, METRIC_COUNTER, "writes_total", "Write calls."),
};

static void by_class(struct buf *b, const struct httpd_counts *n)
{
    static const char name[] = "segq_router_http_responses_total";
    const struct {
        const char *code;
        uint64_t v;
    } rows[] = { { "2xx", n->status_2xx },
                 { "3xx", n->status_3xx },
                 { "4xx", n->status_4xx },
                 { "5xx", n->status_5xx } };

    metrics_head(b, name, METRIC_COUNTER, "Answers by class of status.");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *labels[] = { "code", rows[i].code, NULL };
        metrics_u64(b, name, labels, rows[i].v);
    }
}

static void bypassed(struct buf *b, const struct router_counts *n)
{
    static const char name[] = "segq_router_bypassed_total";

    metrics_head(b, name, METRIC_COUNTER,
                 "Requests let past the room by /v1/verify without a pass, by rule.");
    for (int k = BYPASS_NONE + 1; k < BYPASS_NREASONS; k++) {
        const char *labels[] = { "rule", bypass_name((enum bypass_why)k), NULL };
        metrics_u64(b, name, labels, n->bypassed[k]);
    }
}

static void limits(struct buf *b, const struct gate *g)
{
    static const char name[] = "segq_router_too_fast_total";
    static const char *const kinds[LIMIT_NKINDS] = { [LIMIT_JOIN] = "join",
                                                     [LIMIT_POLL] = "poll",
                                                     [LIMIT_BAD] = "bad" };
    const struct limit_counts *n = limit_counts(g->limit);
    const struct metric_row rows[] = {
        { "segq_router_limit_addresses", METRIC_GAUGE, "Addresses that are remembered.",
          offsetof(struct limit_counts, addresses) },
        { "segq_router_limit_forgotten_total", METRIC_COUNTER,
          "Addresses forgotten too early: limit_table_entries is small for this crowd.",
          offsetof(struct limit_counts, forgotten) },
    };
    const struct metric_row proxies[] = {
        { "segq_router_forwarded_malformed_total", METRIC_COUNTER,
          "Requests of trusted proxies whose header was malformed.",
          offsetof(struct gate, forwarded_bad) },
        { "segq_router_forwarded_absent_total", METRIC_COUNTER,
          "Requests of trusted proxies that named no client.",
          offsetof(struct gate, forwarded_none) },
    };

    metrics_head(b, name, METRIC_COUNTER, "Requests answered with 429, by budget.");
    for (size_t k = 0; k < LIMIT_NKINDS; k++) {
        const char *labels[] = { "budget", kinds[k], NULL };
        metrics_u64(b, name, labels, n->refused[k]);
    }
    metrics_rows(b, rows, ARRAY_LEN(rows), n);
    metrics_rows(b, proxies, ARRAY_LEN(proxies), g);
}

/* Rows that found no room: such a pass is good until it expires by itself. */
static void passes(struct buf *b, const struct router *r)
{
    static const char name[] = "segq_router_passes_forgotten_total";
    const char *ended[] = { "what", "ended", NULL }, *longer[] = { "what", "extended", NULL };

    metrics_head(b, name, METRIC_COUNTER,
                 "Ended or extended passes that this router has no room to know of.");
    metrics_u64(b, name, ended, r->revoked.lost);
    metrics_u64(b, name, longer, r->extended.lost);
}

static void gauge(struct buf *b, const char *name, const char *help, uint64_t v)
{
    metrics_head(b, name, METRIC_GAUGE, help);
    metrics_u64(b, name, NULL, v);
}

void router_metrics(void *router, struct buf *b)
{
    const struct router *r = router;
    size_t up, of;

    metrics_rows(b, own, ARRAY_LEN(own), &r->counts);
    metrics_rows(b, http, ARRAY_LEN(http), httpd_counts(r->httpd));
    by_class(b, httpd_counts(r->httpd));
    bypassed(b, &r->counts);
    limits(b, &r->gate);
    passes(b, r);
    gauge(b, "segq_router_passes_ended", "Ended passes that are refused until they expire.",
          r->revoked.n);
    seg_links_count(r->segs, &up, &of);
    gauge(b, "segq_router_segment_nodes", "Segment nodes in the chain map.", of);
    gauge(b, "segq_router_segment_nodes_up", "Segment nodes reached.", up);
    gauge(b, "segq_router_managers_up", "Managers reached.", mng_links_up(r->mngs));
    gauge(b, "segq_router_map_version", "Version of the chain map.",
          routes_version(r->routes));
    gauge(b, "segq_router_map_epoch", "Epoch of the chain map.", routes_epoch(r->routes));
    gauge(b, "segq_router_flows", "Requests being answered.", r->flows.n);
    metrics_histo(b, "segq_router_join_seconds", "Time to answer a join.", &r->join_us);
    metrics_histo(b, "segq_router_poll_seconds", "Time to answer a poll.", &r->poll_us);
    metrics_histo(b, "segq_router_leave_seconds", "Time to answer a leave.",
                  &r->leave_us);
    metrics_process(b, "router");
}
