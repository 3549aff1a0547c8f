#!/usr/bin/env python3
"""test_prometheus.py: deploy/prometheus with promtool: sound files, and every alert fires when
it should and is silent when it should not.

Each case of CASES is a cluster in which one thing is wrong, and one that is almost the same.
Both are played to the rules; what fires must be this alert and no other, or none at all.
The last line is "test_prometheus: N passed, M failed".
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
DEPLOY = os.path.join(os.path.dirname(os.path.dirname(HERE)), "deploy")
PROM = os.path.join(DEPLOY, "prometheus")
RULES = [os.path.join(PROM, name) for name in ("segq_rules.yml", "segq_alerts.yml")]
STEP_S = 30  # of samples and of evaluations
LONG = 100  # samples: more than any test plays
SETTLED_S = 480  # what rates and increases look back, and then some

M = 'instance="m:7071",job="segq-manager",role="queuemng"'
R = 'instance="r:7100",job="segq",role="router"'
S = 'instance="s:7300",job="segq",role="segment"'
LANE = '{queue="login",lane="default",%s}' % M
LEADER = "segq_manager_leader{%s}" % M


def flat(value, n=LONG):
    """The value, n times after the first."""
    return f"{value}+0x{n}"


def grows(per_step, n=LONG):
    """A counter that grows."""
    return f"0+{per_step}x{n}"


def alternates(a, b):
    """Two values in turn."""
    return f"{a} {b} " * (LONG // 2)


def then(first, second, at=12):
    """One value, then another."""
    return f"{first}+0x{at} {second}+0x{LONG - at}"


def queue(limited_by, rate, waiting=50, released=0):
    """What a queue's people and its limit look like."""
    return {
        "segq_lane_waiting" + LANE: flat(waiting),
        "segq_lane_released_total" + LANE: grows(released),
        'segq_queue_allowed_per_second{queue="login",limited_by="%s",%s}' % (limited_by, M):
            flat(rate),
    }


def one(name, labels, bad, good):
    """The same series with a bad and with a good run of values."""
    series = "%s{%s}" % (name, labels)
    return {series: bad}, {series: good}


def end_of(name, gone, released):
    """People who went in one way, beside those who were let in, and nobody who expired."""
    return {"segq_lane_expired_total" + LANE: flat(0), name + LANE: grows(gone),
            "segq_lane_released_total" + LANE: grows(released)}


def requests(name, bad, labels=R):
    """A counter of a router beside all of its requests (100 a step)."""
    return {"%s{%s}" % (name, labels): grows(bad),
            "segq_router_http_requests_total{%s}" % R: grows(100)}


def buckets(slow):
    """Polls in a histogram of two buckets, of which some are slow."""
    name = "segq_router_poll_seconds_bucket{le=\"%s\"," + R + "}"
    return {name % "0.001024": grows(100 - slow), name % "0.262144": grows(100),
            name % "+Inf": grows(100)}


def polls(stale):
    """A router's polls, of which it asked for some since the replica was too old."""
    name = "segq_router_polls_by_total{by=\"%s\"," + R + "}"
    return {name % "stale": grows(stale), name % "replica": grows(100 - stale)}


def last_known(n):
    """A router's polls, of which some were answered while their node could not be asked."""
    name = "segq_router_polls_by_total{by=\"%s\"," + R + "}"
    return {name % "last_known": grows(n), name % "replica": grows(100 - n)}


def pair(name, labels, value, limit_name, limit):
    """A gauge beside another one."""
    return {"%s{%s}" % (name, labels): flat(value), "%s{%s}" % (limit_name, labels): flat(limit)}


def disk(room):
    """A journal that has written and promised something, and what is free."""
    name = "segq_segment_journal_%s_bytes{" + S + "}"
    return {name % "room": flat(room), name % "log": flat(64 << 20),
            name % "promised": flat(16 << 20)}


def maps(router, manager):
    """Versions of the chain map: a router's and the leader's."""
    return {"segq_router_map_version{%s}" % R: flat(router),
            "segq_manager_map_version{%s}" % M: flat(manager)}


def releases(*versions):
    """Processes of these releases."""
    return {'segq_build_info{program="router",version="%s",instance="r%d"}' % (v, i): flat(1)
            for i, v in enumerate(versions)}


def tasks(**figures):
    """Figures of a pool."""
    return {'segq_tasks_%s{pool="images",%s}' % (k, M): flat(v) for k, v in figures.items()}


def lacks_workers(started):
    """Tasks in line, and workers alone are missing."""
    name = 'segq_tasks_%s{pool="images",' + M + "}"
    return {'segq_tasks_held{pool="images",by="workers",' + M + "}": flat(501),
            name % "running": flat(0), name % "started_total": started}


def late_tasks(seconds):
    """Delays end, and each so late."""
    name = 'segq_tasks_%s_total{pool="images",' + M + "}"
    return {name % "due": grows(10), name % "late_seconds": grows(10 * seconds)}


# alert: (what makes it fire, what is nearly the same and must not)
CASES = {
    "SegqNotReleasing": (queue("cpu", 100), queue("cpu", 100, released=3)),
    "SegqPausedWithPeople": (queue("paused", 0), queue("paused", 0, waiting=0)),
    "SegqReleaseAtZero": (queue("cpu", 0), queue("flushed", 0)),
    "SegqSlotsFull": (queue("slots", 0), queue("slots", 0, released=1)),
    "SegqFallback": (queue("fallback", 20, released=100), queue("no_limits", 10, waiting=0)),
    "SegqMonitorStale": one("segq_monitor_ok", 'metric="cpu",' + M, flat(0), flat(1)),
    "SegqNoShows": (end_of("segq_lane_no_shows_total", 40, 100),
                    end_of("segq_lane_no_shows_total", 20, 100)),
    "SegqPeopleGiveUp": (end_of("segq_lane_left_total", 90, 10),
                         end_of("segq_lane_left_total", 10, 10)),
    "SegqQueueFull": one("segq_router_full_total", R, grows(1), flat(7)),
    "SegqNoLeader": ({LEADER: flat(0)}, {}),
    "SegqTwoLeaders": one("segq_manager_leader", 'instance="m2"', flat(1), flat(0)),
    "SegqForeignNodes": one("segq_manager_nodes_foreign", M, flat(2), flat(0)),
    "SegqStoreFails": one("segq_store_failures_total", M, grows(1), flat(5)),
    "SegqRedisDown": one("segq_redis_up", M, flat(0), flat(1)),
    "SegqProcessDown": one("up", R, flat(0), flat(1)),
    "SegqNodeGone": one("segq_manager_nodes_up", M, then(3, 2), then(2, 3)),
    "SegqRouterGone": one("segq_manager_routers_up", M, then(3, 2), then(2, 3)),
    "SegqSegmentsLost": one("segq_manager_segments_lost_total", M, grows(1), flat(4)),
    "SegqRestarts": one("process_start_time_seconds", R, grows(60), then(1000, 2000)),
    "SegqRouterWithoutMap": one("segq_router_map_version", R, flat(0), flat(9)),
    "SegqRouterMapOld": (maps(8, 9), maps(9, 9)),
    "SegqRouterCutOff": (
        pair("segq_router_segment_nodes_up", R, 2, "segq_router_segment_nodes", 3),
        pair("segq_router_segment_nodes_up", R, 3, "segq_router_segment_nodes", 3)),
    "SegqUnavailable": (requests("segq_router_unavailable_total", 3),
                        requests("segq_router_unavailable_total", 1)),
    "SegqSlow": (buckets(20), buckets(0)),
    "SegqReplicaStale": (polls(30), polls(10)),
    "SegqLastKnown": (last_known(3), last_known(0.5)),
    "SegqTooFast": (requests("segq_router_too_fast_total", 10, 'budget="join",' + R),
                    requests("segq_router_too_fast_total", 1, 'budget="join",' + R)),
    "SegqSuspects": one("segq_suspects", R, flat(2), flat(0)),
    "SegqLimitTableSmall": one("segq_router_limit_forgotten_total", R, grows(90), grows(9)),
    "SegqDescriptors": (pair("process_open_fds", R, 95, "process_max_fds", 100),
                        pair("process_open_fds", R, 80, "process_max_fds", 100)),
    "SegqJournalFails": one("segq_segment_journal_failures_total", S, grows(1), flat(3)),
    "SegqJournalHolding": one("segq_segment_journal_holding", S, flat(1), flat(0)),
    "SegqJournalSnapshots": one("segq_segment_journal_snapshot_failures_total", S, grows(1),
                                flat(2)),
    "SegqDiskFull": one("segq_segment_journal_no_room", S, flat(1), flat(0)),
    "SegqDiskSoonFull": (disk(0), disk(900 << 20)), # nothing is less, too
    "SegqNodeFull": (pair("segq_segment_tickets", S, 95, "segq_segment_max_tickets", 100),
                     pair("segq_segment_tickets", S, 80, "segq_segment_max_tickets", 100)),
    "SegqPassesFail": one("segq_segment_passes_failed_total", S, grows(1), flat(1)),
    "SegqLateTicks": one("segq_segment_late_ticks_total", S, grows(1), flat(9)),
    "SegqRebuilding": one("segq_segment_rebuilding", S, flat(1), flat(0)),
    "SegqMovesFail": one("segq_manager_moves_aborted_total", M, grows(1), flat(99)),
    "SegqTrailFails": one("segq_segment_audit_failing", S, flat(1), flat(0)),
    "SegqArchiveFails": one("segq_task_archive_failing", 'instance="t:7500",job="segq",role="task"', flat(1), flat(0)),
    "SegqChangesUnwritten": one("segq_manager_audit_unwritten", M, flat(2), flat(0)),
    "SegqDirectoryPartial": one("segq_segment_directory_complete", S, flat(0), flat(1)),
    "SegqReloadRefused": one("segq_reload_refused", S, flat(1), flat(0)),
    "SegqClocks": one("segq_manager_clocks_off", M, flat(1), flat(0)),
    "SegqUnknownQueues": one("segq_router_unknown_queues", R, flat(1), flat(0)),
    "SegqCertificateLapses": one("segq_admin_tls_certificate_lapses_timestamp_seconds", S,
                                 flat(13 * 86400), flat(20 * 86400)),
    "SegqTaskNodeDown": one("segq_tasks_node_up", 'node="t0",' + M, flat(0), flat(1)),
    "SegqTasksTooOld": (tasks(oldest_seconds=1900, paused=0),
                        tasks(oldest_seconds=1700, paused=0)),
    "SegqTasksWaiting": (tasks(waiting=11, warn_waiting=10), tasks(waiting=11, warn_waiting=0)),
    "SegqEtaService": (
        {'segq_task_eta_questions_total{instance="t:7500",job="segq",role="task",ended="late"}': grows(2),
         'segq_task_eta_questions_total{instance="t:7500",job="segq",role="task",ended="answered"}': grows(1)},
        {'segq_task_eta_questions_total{instance="t:7500",job="segq",role="task",ended="late"}': flat(9),
         'segq_task_eta_questions_total{instance="t:7500",job="segq",role="task",ended="answered"}': grows(1)}),
    "SegqTasksNoWorker": (lacks_workers(flat(7)), lacks_workers(grows(1))),
    "SegqTasksPausedLong": (tasks(paused=1, waiting=2), tasks(paused=1, waiting=0)),
    "SegqEndpointDown": one("segq_task_endpoint_breaker", 'endpoint="gen",' + M, alternates(1, 2), flat(2)),
    "SegqDiscoveryFailing": one("segq_endpoint_name_failing_seconds", 'endpoint="gen",url="http://gpu:80",' + M, grows(60), flat(0)),
    "SegqTargetBlind": one("segq_task_target_reading", 'endpoint="gen",target="http://gpu1",' + M, flat(4), flat(3)),
    "SegqTasksDie": one("segq_tasks_died_total", 'pool="images",' + M, grows(1), flat(9)),
    "SegqTasksExpire": one("segq_tasks_expired_total", 'pool="images",' + M, grows(1), flat(9)),
    "SegqAnswersCut": one("segq_task_answers_cut_total", 'instance="t:7500",job="segq",role="task",why="room"', grows(1), flat(9)),
    "SegqTasksGiveWay": one("segq_task_gave_way_total", 'instance="t:7500",job="segq",role="task"', grows(1), flat(9)),
    "SegqTasksFull": one("segq_task_full_ratio", 'instance="t:7500",job="segq",role="task"', flat(0.9), flat(0.8)),
    "SegqTicksMissed": one("segq_task_ticks_missed_total", 'instance="t:7500",job="segq",role="task"', grows(1), flat(0)),
    "SegqNoticesDropped": one("segq_task_notices_dropped_total", 'instance="t:7500",job="segq",role="task"', grows(1), flat(9)),
    "SegqTasksLate": (late_tasks(2), late_tasks(0.01)),
    "SegqCertificateEnds": one("segq_segment_link_cert_expires_timestamp_seconds", S,
                               flat(13 * 86400), flat(15 * 86400)),
    "SegqVersionsDiffer": (releases("0.1.0", "0.2.0"), releases("0.1.0", "0.1.0")),
}


def patience_s(alert):
    """For how long the condition must hold before the alert fires, as its file says."""
    found = re.search(r"- alert: %s\n(?:(?!- alert)[^\0])*?\n +for: (\d+)([smh])" % alert,
                      text_of("prometheus", "segq_alerts.yml"))
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] if found else 0


def as_test(name, series, firing, alert):
    """One of promtool's tests: these series, and which alerts fire in the end."""
    have = dict({LEADER: flat(1)}, **series)
    return {
        "name": name,
        "interval": f"{STEP_S}s",
        "input_series": [{"series": s, "values": v} for s, v in have.items()],
        "promql_expr_test": [{
            "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
            "eval_time": f"{patience_s(alert) + SETTLED_S}s",
            "exp_samples": [{"labels": '{alertname="%s"}' % a, "value": 1} for a in firing],
        }],
    }


def play(tests):
    """promtool's verdict: its exit status and what it said. JSON is YAML, too."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"rule_files": RULES, "evaluation_interval": f"{STEP_S}s", "tests": tests}, f)
        f.flush()
        return promtool("test", "rules", f.name)


def promtool(*args):
    got = subprocess.run(["promtool", *args], capture_output=True, text=True)
    return got.returncode, got.stdout + got.stderr


def text_of(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as f:
        return f.read()


def alerts():
    return re.findall(r"- alert: (\w+)", text_of("prometheus", "segq_alerts.yml"))


class Files(unittest.TestCase):
    """What promtool says of the files as they are installed."""

    def test_rules_are_sound(self):
        code, said = promtool("check", "rules", *RULES)
        self.assertEqual(code, 0, said)

    def test_config_is_sound(self):
        code, said = promtool("check", "config", "--syntax-only",
                              os.path.join(PROM, "prometheus.yml"))
        self.assertEqual(code, 0, said)

    def test_each_alert_is_explained(self):
        """A runbook of its own, and nothing explained that is not there."""
        page = text_of("prometheus", "README.md")
        self.assertEqual(sorted(re.findall(r"^### (Segq\w+)", page, re.M)), sorted(alerts()))
        anchors = re.findall(r"README.md#(\w+)", text_of("prometheus", "segq_alerts.yml"))
        self.assertEqual(anchors, [a.lower() for a in alerts()])

    def test_each_alert_is_tried(self):
        self.assertEqual(sorted(alerts()), sorted(CASES))

    def test_a_wrong_expectation_is_noticed(self):
        """promtool does compare: an alert that does not fire, and one nobody expects."""
        bad, good = CASES["SegqFallback"]
        name = "SegqFallback"
        self.assertNotEqual(play([as_test("x", good, [name], name)])[0], 0)
        self.assertNotEqual(play([as_test("x", bad, [], name)])[0], 0)


def both_runs(name):
    """promtool's verdict on an alert's two runs."""
    bad, good = CASES[name]
    return play([as_test("fires", bad, [name], name), as_test("does not", good, [], name)])


class Alerts(unittest.TestCase):
    """A test per alert of CASES."""

    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            cls.got = dict(zip(CASES, pool.map(both_runs, CASES)))


def test_of(name):
    def test(self):
        code, said = self.got[name]
        self.assertEqual(code, 0, said)
    return test


for alert in CASES:
    setattr(Alerts, "test_" + alert, test_of(alert))


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_prometheus: {got.testsRun - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
