/* night.c: see the header. Pure. */
#include "rehearse/night.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "rehearse/regions.h"

static const char *const dists[] = { "none", "fixed", "uniform", "exponential", NULL };
static const char *const clients[] = { "browser", "mobile", "game", NULL };
const char *const night_what_names[] = { "kill_node", "kill_router", "kill_manager", "add_router",
                                         "lose_region", "slow_disk", "rate", "max_active", "state", NULL };

#define AT(type, f) offsetof(struct type, f)
#define NUM(type, key, f, def, most, help) \
    { key, CFG_NUM, AT(type, f), def, 0, most, false, help, 0, 0, 0 }
#define MS(type, key, f, def, least, help) \
    { key, CFG_MS, AT(type, f), def, least, NIGHT_MS_MAX, false, help, 0, 0, 0 }
#define INT(type, key, f, def, least, most, help) \
    { key, CFG_INT, AT(type, f), def, least, most, false, help, 0, 0, 0 }
#define WORD(type, key, f, def, words, help) \
    { key, CFG_ENUM, AT(type, f), def, 0, 0, false, help, words, 0, 0 }
#define MAP(type, key, f, keys, help) \
    { key, CFG_OBJ, AT(type, f), "", 0, 0, false, help, 0, keys, 0 }
#define LIST(type, key, f, def, least, most, keys, element, help) \
    { key, CFG_OBJS, AT(type, f), def, least, most, false, help, 0, keys, sizeof(struct element) }

static const struct cfg_key span_keys[] = {
    WORD(night_span, "kind", kind, "exponential", dists,
         "none: without end; fixed: all the same; uniform: from 0 to twice the mean"),
    MS(night_span, "mean", mean_ms, "20m", 1, "mean"),
    { 0 },
};

static const struct cfg_key point_keys[] = {
    MS(night_point, "at", at_ms, NULL, 0, "time from the start"),
    NUM(night_point, "per_s", per_s, NULL, 1e7,
        "people who come per second then; straight lines between points"),
    { 0 },
};

static const struct cfg_key share_keys[] = {
    { "lane", CFG_NAME, AT(night_share, lane), NULL, 0, 0, false, "one of the queue's lanes", 0, 0, 0 },
    NUM(night_share, "percent", percent, NULL, 100, "of those who come; the others come to the first lane"),
    { 0 },
};

static const struct cfg_key bots_keys[] = {
    NUM(night_bots, "per_s", per_s, "0", 1e7, "tries to join per second, by scripts"),
    MS(night_bots, "from", from_ms, "0s", 0, "they begin"),
    MS(night_bots, "for", for_ms, "10m", 1, "and go on for so long"),
    NUM(night_bots, "enter", enter, "100", 100, "percent of their places that are used; the others are no-shows"),
    INT(night_bots, "addresses", addresses, "1000", 1, 100000000, "that they come from"),
    NUM(night_bots, "join_limit_per_s", join_limit, "5", 1e6,
        "joins of one address that each router lets through (conf/router.yaml); 0 = no limit"),
    { 0 },
};

static const struct cfg_key crowd_keys[] = {
    { "queue", CFG_STR, AT(night_crowd, queue), "", 0, NAME_MAX_LEN, false,
      "the queue that they come to; may be left out if there is one", 0, 0, 0 },
    LIST(night_crowd, "arrivals", arrivals, "", 0, 10000, point_keys, night_point,
         "people who come, as points of a curve; nobody before the first and after the last"),
    { "arrivals_csv", CFG_STR, AT(night_crowd, arrivals_csv), "", 0, 400, false,
      "in its place: a file of lines time,count, of a past night; beside the night's file", 0, 0, 0 },
    { "from", CFG_STR, AT(night_crowd, from), "", 0, 40, false,
      "--from-audit: when the night began, 2027-01-31T19:50:00Z (default: the first join in the files)", 0, 0, 0 },
    WORD(night_crowd, "client", client, "browser", clients,
         "what they come with: how long a silent one keeps the place"),
    MAP(night_crowd, "patience", patience, span_keys, "time after which a person who waits gives up"),
    MAP(night_crowd, "stay", stay, span_keys, "time that a person is inside"),
    NUM(night_crowd, "no_shows", no_shows, "3", 100, "percent who do not come when it is their turn"),
    NUM(night_crowd, "second_places", second_places, "0", 100,
        "percent who take another place in another browser: the first that comes lets them in, the other is a no-show"),
    LIST(night_crowd, "lanes", lanes, "", 0, LANES_MAX, share_keys, night_share, "who come to other lanes than the first"),
    MAP(night_crowd, "bots", bots, bots_keys, "scripts that join"),
    NUM(night_crowd, "silent", silent, "70", 100, "of those who give up, percent who only close the page"),
    { 0 },
};

/* The defaults are docs/speed.md's. */
#define COSTS(X)                                                                             \
    X("poll_us", poll_us, "6.06", "router: CPU of a poll")                                   \
    X("connect_us", connect_us, "14.7", "router: CPU of a new connection")                   \
    X("join_us", join_us, "6.13", "router: CPU of a join")                                   \
    X("node_poll_us", node_poll_us, "0.336", "segment node: CPU of a poll")                  \
    X("node_join_us", node_join_us, "0.759", "segment node: CPU of a join")                  \
    X("pass_us", pass_us, "18", "segment node: CPU of a pass")                               \
    X("router_idle_ms", router_idle_ms, "0", "router: CPU of a second with nobody there")    \
    X("node_idle_ms", node_idle_ms, "0", "segment node: CPU of a second with nobody there")
#define COST(key, f, def, help) NUM(night_costs, key, f, NULL, 1e5, help),
#define CLUSTER_COST(key, f, def, help) NUM(night_cluster, key, cost.f, def, 1e5, help),

const struct cfg_key night_cost_keys[] = { COSTS(COST) { 0 } };
const struct cfg_key night_costs_file[] = {
    { "costs", CFG_OBJ, 0, NULL, 0, 0, false, "costs of requests, written by segqctl measure", 0, night_cost_keys, 0 },
    { 0 },
};

#define NAMED(type, key, f, help) { key, CFG_NAME, AT(type, f), NULL, 0, 0, false, help, 0, 0, 0 }

static const struct cfg_key region_keys[] = {
    NAMED(night_region, "region", region, "name of the region"),
    INT(night_region, "routers", routers, NULL, 0, NIGHT_ROUTERS_MAX, "routers there: the next ones by number"),
    INT(night_region, "segment_nodes", nodes, NULL, 0, NIGHT_NODES_MAX, "segment nodes there, likewise"),
    NUM(night_region, "people", people, NULL, 100, "percent of the people, who come to its routers"),
    { 0 },
};

static const struct cfg_key way_keys[] = {
    NAMED(night_way, "from", from, "region in which a message begins"),
    NAMED(night_way, "to", to, "region in which it ends"),
    { "way", CFG_MS, AT(night_way, ms), NULL, 0, 1000, false,
      "time of a message; back it is the same, unless that is said, too", 0, 0, 0 },
    { 0 },
};

static const struct cfg_key cluster_keys[] = {
    INT(night_cluster, "routers", routers, "2", 1, NIGHT_ROUTERS_MAX, "routers, one core each"),
    INT(night_cluster, "segment_nodes", nodes, "2", 1, NIGHT_NODES_MAX, "segment nodes, one core each"),
    COSTS(CLUSTER_COST)
    INT(night_cluster, "max_conns", max_conns, "65536", 1, 100000000, "connections of a router (conf/router.yaml)"),
    INT(night_cluster, "max_tickets", max_tickets, "10000000", 1, 1e12, "places of a segment node (conf/segment.yaml)"),
    LIST(night_cluster, "regions", regions, "", 0, NIGHT_REGIONS_MAX, region_keys, night_region,
         "parts of the world; the leading manager is in the first"),
    LIST(night_cluster, "ways", ways, "", 0, NIGHT_REGIONS_MAX * NIGHT_REGIONS_MAX, way_keys, night_way,
         "times of messages between regions"),
    { "disk", CFG_MS, AT(night_cluster, disk_ms), "0s", 0, 10000, false,
      "a segment node's write, before a join or a release is told: 0 with journal: os, what a sync takes with fsync", 0, 0, 0 },
    MS(night_cluster, "keepalive", keepalive_ms, "100s", 0,
       "idle_timeout of the routers: a poll after a longer pause connects anew"),
    MS(night_cluster, "replica_keep", keep_ms, "15s", 0,
       "while a node is away, routers tell places as last known for so long"),
    MS(night_cluster, "skip_after", skip_after_ms, "5s", 0, "releases wait so long for a node that is away"),
    MS(night_cluster, "lost_after", lost_after_ms, "30s", 0, "then its lines are rebuilt elsewhere"),
    { 0 },
};

static const struct cfg_key backend_keys[] = {
    { "metric", CFG_NAME, AT(night_backend, metric), "cpu", 0, 0, false, "name in the queue's limits", 0, 0, 0 },
    NUM(night_backend, "base", base, "10", 1e6, "its value with nobody inside"),
    NUM(night_backend, "per_person", per_person, "0.002", 1e6, "what each person inside adds"),
    NUM(night_backend, "per_release", per_release, "0.02", 1e6, "what one entry per second adds: the login"),
    NUM(night_backend, "crash_above", crash_above, "95", 1e6,
        "above it the backend goes down, and everybody inside is out; 0 = never"),
    MS(night_backend, "restart", restart_ms, "2m", 1000, "it is down for so long"),
    MS(night_backend, "sample", sample_ms, "2s", 100, "the manager reads the metric as often"),
    { 0 },
};

static const struct cfg_key event_keys[] = {
    MS(night_event, "at", at_ms, NULL, 0, "time from the start"),
    WORD(night_event, "what", what, NULL, night_what_names, "what happens"),
    INT(night_event, "no", no, "1", 1, NIGHT_ROUTERS_MAX, "kill_node, kill_router, slow_disk: which one"),
    MS(night_event, "for", for_ms, "3s", 0, "kill_.., lose_region, slow_disk: it is over after this time; 0 = never"),
    NUM(night_event, "value", value, "0", 1e9,
        "rate: releases per second, 0 = by limits; max_active: people; slow_disk: ms that a write takes"),
    { "region", CFG_STR, AT(night_event, region), "", 0, NAME_MAX_LEN, false,
      "lose_region: whose routers and nodes are gone; add_router: where (default: the first)", 0, 0, 0 },
    WORD(night_event, "state", state, "open", def_state_names, "state: the queue's"),
    { 0 },
};

const struct cfg_key night_keys[] = {
    LIST(night, "queues", queues, NULL, 1, 100000, queue_def_keys, queue_def,
         "definitions of queues, as segqctl export prints them; one of them is played"),
    MAP(night, "cluster", cluster, cluster_keys, "processes, and what each request costs them"),
    MAP(night, "crowd", crowd, crowd_keys, "who comes when, and how long each waits and stays"),
    MAP(night, "backend", backend, backend_keys, "what people inside cost it"),
    LIST(night, "events", events, "", 0, 1000, event_keys, night_event, "what happens when"),
    INT(night, "seed", seed, "1", 0, 1e15, "of chance: the same seed gives the same night"),
    MS(night, "for", for_ms, "1h", 1000, "length of the night"),
    INT(night, "people_per_row", per_row, "0", 0, 100000,
        "people who are played as one; 0 = 1, of more than 5 million people as few as are no more rows"),
    { 0 },
};

const struct queue_def *night_queue(const struct night *n)
{
    const struct queue_def *d = n->queues.v;
    bool named = n->crowd.queue != NULL && n->crowd.queue[0] != '\0';

    for (size_t i = 0; i < n->queues.n; i++)
        if (named ? strcmp(d[i].name, n->crowd.queue) == 0 : n->queues.n == 1)
            return &d[i];
    return NULL;
}

uint64_t night_arrived(const struct night *n, msec_t ms)
{
    const struct night_point *p = n->crowd.arrivals.v;
    size_t low = 0, high = n->crowd.arrivals.n; /* the last point before `ms` is in [low, high) */
    double len, part, end;

    if (n->past != NULL) {
        for (high = n->n_past; low < high;)
            if (n->past[(low + high) / 2].came_ms < ms)
                low = (low + high) / 2 + 1;
            else
                high = (low + high) / 2;
        return low;
    }
    if (high == 0 || p[0].at_ms >= ms)
        return 0;
    while (high - low > 1)
        *(p[(low + high) / 2].at_ms < ms ? &low : &high) = (low + high) / 2;
    if (low + 1 == n->crowd.arrivals.n)
        return (uint64_t)(p[low].before + 1e-6);
    len = (double)(p[low + 1].at_ms - p[low].at_ms) / 1000;
    part = fmin(len, (double)(ms - p[low].at_ms) / 1000);
    end = p[low].per_s + (p[low + 1].per_s - p[low].per_s) * (len > 0 ? part / len : 1);
    return (uint64_t)(p[low].before + (p[low].per_s + end) / 2 * part + 1e-6);
}

double night_bots(const struct night *n, msec_t ms, double *tried)
{
    const struct night_bots *b = &n->crowd.bots;
    double s = (double)ms_min(ms > b->from_ms ? ms - b->from_ms : 0, b->for_ms) / 1000;
    double most = (double)b->addresses * b->join_limit * (double)n->cluster.routers;

    *tried = s * b->per_s;
    return s * (b->join_limit > 0 ? fmin(b->per_s, most) : b->per_s);
}

uint64_t night_seconds(const struct night *n, uint64_t people)
{
    return (uint64_t)((double)people * n->crowd.second_places / 100 + 1e-9);
}

static uint64_t people_of(const struct night *n)
{
    uint64_t all = night_arrived(n, n->for_ms);
    double tried;

    return all + night_seconds(n, all) + (uint64_t)night_bots(n, n->for_ms, &tried);
}

uint32_t night_per_row(const struct night *n)
{
    uint64_t all = people_of(n);

    if (n->per_row > 0)
        return (uint32_t)n->per_row;
    return n->past != NULL || all < NIGHT_ROWS_GOOD ? 1 : (uint32_t)((all + NIGHT_ROWS_GOOD - 1) / NIGHT_ROWS_GOOD);
}

uint64_t night_rows(const struct night *n)
{
    return people_of(n) / night_per_row(n) + 3; /* a row more of each kind, for what is left over */
}

unsigned night_lanes(const struct queue_def *d)
{
    return d->lanes.n > 0 ? (unsigned)d->lanes.n : 1;
}

unsigned night_lane(const struct queue_def *d, const char *name, size_t len)
{
    const struct def_lane *l = d->lanes.v;

    for (unsigned i = 0; i < d->lanes.n; i++)
        if (strlen(l[i].name) == len && memcmp(l[i].name, name, len) == 0)
            return i;
    return UINT_MAX;
}

static int events_check(const struct night *n, struct err *e)
{
    const struct night_event *v = n->events.v;
    const struct queue_def *d = night_queue(n);
    int64_t routers = n->cluster.routers;

    for (size_t i = 0; i < n->events.n; i++) {
        if (v[i].at_ms >= n->for_ms)
            return err_set(e, SQ_EINVAL, "events[%zu].at: the night is over by then (for)", i);
        if (i > 0 && v[i].at_ms < v[i - 1].at_ms)
            return err_set(e, SQ_EINVAL, "events[%zu].at: earlier than the event before it", i);
        if (v[i].what == SET_RATE && (v[i].value > 1e6 || d->mode == MODE_SLOTS))
            return err_set(e, SQ_EINVAL, "events[%zu].value: a rate is at most 1000000, and of mode rate or both", i);
        if (v[i].what == SET_MAX && (v[i].value < 1 || d->mode == MODE_RATE))
            return err_set(e, SQ_EINVAL, "events[%zu].value: max_active is at least 1, and of mode slots or both", i);
        routers += v[i].what == ADD_ROUTER;
        if (routers > NIGHT_ROUTERS_MAX)
            return err_set(e, SQ_EINVAL, "events[%zu]: more than %d routers", i, NIGHT_ROUTERS_MAX);
        if (v[i].what == KILL_ROUTER && v[i].no > routers)
            return err_set(e, SQ_EINVAL, "events[%zu].no: there are %lld routers then", i, (long long)routers);
        if ((v[i].what == KILL_NODE || v[i].what == SLOW_DISK) && v[i].no > n->cluster.nodes)
            return err_set(e, SQ_EINVAL, "events[%zu].no: there are %lld segment nodes", i,
                           (long long)n->cluster.nodes);
        if (v[i].what == SLOW_DISK && (v[i].value < 1 || v[i].value > 10000))
            return err_set(e, SQ_EINVAL, "events[%zu].value: 1 to 10000 ms are allowed", i);
        if (v[i].what == LOSE_REGION && n->cluster.regions.n < 2)
            return err_set(e, SQ_EINVAL, "events[%zu].what: cluster.regions are %zu; at least 2 are needed", i,
                           n->cluster.regions.n);
        if ((v[i].what == LOSE_REGION || (v[i].region != NULL && v[i].region[0] != '\0')) &&
            regions_no(n, v[i].region) == UINT_MAX)
            return err_set(e, SQ_EINVAL, "events[%zu].region: there is no region \"%s\" in cluster.regions", i,
                           v[i].region != NULL ? v[i].region : "");
    }
    return 0;
}

static int crowd_check(const struct night *n, struct err *e)
{
    const struct night_crowd *c = &n->crowd;
    const struct night_share *v = c->lanes.v;
    double sum = 0;

    if (n->past != NULL && (c->lanes.n > 0 || c->second_places > 0 || c->bots.per_s > 0))
        return err_set(e, SQ_EINVAL, "crowd.%s: the crowd is that of the audit trail; leave it out",
                       c->lanes.n > 0 ? "lanes" : c->second_places > 0 ? "second_places" : "bots.per_s");
    for (size_t i = 0; i < c->lanes.n; i++) {
        if (night_lane(night_queue(n), v[i].lane, strlen(v[i].lane)) == UINT_MAX)
            return err_set(e, SQ_EINVAL, "crowd.lanes[%zu].lane: the queue has no lane \"%s\"", i, v[i].lane);
        sum += v[i].percent;
    }
    if (sum > 100)
        return err_set(e, SQ_EINVAL, "crowd.lanes: %g percent in all; at most 100", sum);
    return 0;
}

static int queue_check(const struct night *n, struct err *e)
{
    const struct queue_def *d = night_queue(n);
    const struct def_limit *l;
    size_t at;

    if (d == NULL)
        return err_set(e, SQ_EINVAL, "crowd.queue: must name one of the %zu queues", n->queues.n);
    if (queue_def_check(d, e) < 0)
        return SQ_EINVAL;
    l = d->limits.v;
    at = (size_t)(d - (const struct queue_def *)n->queues.v);
    if (d->when.opens_at != NULL && d->when.opens_at[0] != '\0')
        return err_set(e, SQ_EINVAL, "queues[%zu].opens_at: a rehearsal has no dates; leave it out, and open with "
                       "an event (state: open)", at);
    if (d->budget.name != NULL && d->budget.name[0] != '\0')
        return err_set(e, SQ_EINVAL, "queues[%zu].budget: a rehearsal plays one queue alone; leave it out", at);
    for (size_t i = 0; i < d->limits.n; i++)
        if (strcmp(l[i].metric, n->backend.metric) != 0)
            return err_set(e, SQ_EINVAL, "queues[%zu].limits[%zu].metric: the backend has \"%s\" alone", at, i,
                           n->backend.metric);
    return 0;
}

int night_check(struct night *n, struct err *e)
{
    struct night_point *p = n->crowd.arrivals.v;
    uint64_t all;

    if (n->crowd.arrivals.n == 0 && n->past == NULL)
        return err_set(e, SQ_EINVAL, "crowd.arrivals: missing; this, or arrivals_csv");
    if (regions_check(n, e) < 0)
        return SQ_EINVAL;
    for (size_t i = 1; i < n->crowd.arrivals.n; i++) {
        if (p[i].at_ms < p[i - 1].at_ms)
            return err_set(e, SQ_EINVAL, "crowd.arrivals[%zu].at: earlier than the point before it", i);
        p[i].before = p[i - 1].before +
                      (p[i - 1].per_s + p[i].per_s) / 2 * (double)(p[i].at_ms - p[i - 1].at_ms) / 1000;
    }
    all = people_of(n);
    if (all == 0 || all > NIGHT_PEOPLE_MAX)
        return err_set(e, SQ_EINVAL, "crowd.arrivals: %llu places are taken; from 1 to %d are allowed",
                       (unsigned long long)all, NIGHT_PEOPLE_MAX);
    if (n->past != NULL && n->per_row > 1)
        return err_set(e, SQ_EINVAL, "people_per_row: people of the audit trail are played one by one");
    if (night_rows(n) > NIGHT_ROWS_MAX)
        return err_set(e, SQ_EINVAL, "people_per_row: %llu people are more than %d rows; at least %llu are needed",
                       (unsigned long long)all, NIGHT_ROWS_MAX, (unsigned long long)(all / NIGHT_ROWS_MAX + 1));
    if (queue_check(n, e) < 0 || crowd_check(n, e) < 0)
        return SQ_EINVAL;
    return events_check(n, e);
}
