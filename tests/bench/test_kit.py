#!/usr/bin/env python3
"""test_kit.py: the bench's own arithmetic, its report and its charts, on made-up results.

The last line is "test_kit: N passed, M failed".
"""
import contextlib
import io
import json
import math
import os
import shutil
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import bench  # noqa: E402
from kit import axis, chart, machine, procs, readme, report, sizing, stats  # noqa: E402
from kit.row import case, row  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
NAN = float("nan")


def marks(svg, tag, cls):
    """The elements of a well-formed chart with this class."""
    return [e for e in ET.fromstring(svg).iter(SVG + tag) if cls in e.get("class", "").split()]


def words(svg):
    return [e.text for e in ET.fromstring(svg).iter(SVG + "text")]


def some_row(row_id="polls", met=True):
    """Two cases with a peer (the first with an aim), one without."""
    a = stats.summary([100.0, 120.0, 110.0])
    b = stats.summary([80.0, 100.0, 100.0])
    return row(row_id, "Polls a second", "As many as will go.", [
        case("64 connections", "polls/s", a, b, "nginx", stats.ratios([100, 120], [80, 100]),
             aim=1.1 if met else 9, cpu_us=stats.summary([7.2])),
        case("a | pipe", "polls/s", a, b, "nginx", stats.ratios([1], [1])),
        case("none", "polls/s", None)], ["a note"])


def some_result(rows, failed=None):
    return {"machine": {**machine.describe(ROOT), "noise": some_noise()}, "quick": False,
            "rounds": 3, "started": "2030-01-02T03:04:05", "took_s": 61.0, "rows": rows,
            "failed": failed or {}, "not_run": []}


def some_noise():
    return {"load_before": 0.1, "load_after": 0.2, "probe_ms": stats.summary([20.0, 21.0]),
            "probe_spread": 0.05, "lost_pct": stats.summary([0.5]), "steal_pct": 0.0,
            "verdict": "quiet"}


class Folder(unittest.TestCase):
    """Tests that write files."""

    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="segq-kit.")
        self.addCleanup(shutil.rmtree, self.out)

    def text(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as f:
            return f.read()


class Stats(unittest.TestCase):
    def test_summary_is_median_with_ends(self):
        self.assertEqual(stats.summary([3, None, 1, 2]),
                         {"median": 2, "min": 1, "max": 3, "rounds": [3, 1, 2]})
        self.assertIsNone(stats.summary([None]))

    def test_ratios_are_taken_round_by_round(self):
        self.assertEqual(stats.ratios([2, 9, 8], [1, 3, 4])["rounds"], [2, 3, 2])
        self.assertEqual(stats.ratios([1, 2], [0, 1])["rounds"], [2])

    def test_spread_is_relative_to_the_median(self):
        self.assertAlmostEqual(stats.spread([9, 10, 11]), 0.2)
        self.assertEqual(stats.spread([]), 0)


class Axis(unittest.TestCase):
    def test_numbers_have_three_digits(self):
        for x, text in ((55812, "55 800"), (1000000, "1 000 000"), (0.01234, "0.0123"),
                        (7.249, "7.25"), (0, "0"), (NAN, "-"), (None, "-"),
                        (math.inf, "-"), (-1234, "-1 230"), (999.6, "1 000")):
            self.assertEqual(axis.num(x), text)

    def test_a_linear_axis_holds_zero_and_every_value(self):
        for values in ([3, 7], [0.001], [-5, 5], [], [0], [123456]):
            a = axis.scale(values, 0, 100)
            self.assertLessEqual(len(a.ticks), 9)
            for v in [0, *values]:
                self.assertTrue(-0.001 <= a.at(v) <= 100.001, (values, v))

    def test_a_log_axis_holds_every_value_and_goes_by_ratios(self):
        for values in ([10, 1000], [0.003, 7e9], [5], [], [1.1, 1.2]):
            a = axis.scale(values, 0, 100, log=True)
            self.assertTrue(2 <= len(a.ticks) <= 9, a.ticks)
            for v in values:
                self.assertTrue(-0.001 <= a.at(v) <= 100.001, (values, v))
        a = axis.scale([1, 100], 0, 100, log=True)
        self.assertAlmostEqual(a.at(10) - a.at(1), a.at(100) - a.at(10))
        self.assertEqual(a.at(0), 0)

    def test_no_number_does_not_move_an_axis(self):
        self.assertEqual(axis.scale([1, NAN, None, math.inf], 0, 9).hi,
                         axis.scale([1], 0, 9).hi)


class Charts(unittest.TestCase):
    SPEC = {"title": "A <title> & more", "x": "connections", "y": "polls/s",
            "series": {"segq": [[64, 10, 9, 11], [256, NAN]], "nginx": [[64, 8], [256, 0]]}}

    def test_bars_have_one_mark_per_figure_and_say_what_is_missing(self):
        svg = chart.draw({"kind": "bars", **self.SPEC})
        self.assertEqual(len(marks(svg, "rect", "bar")), 3)
        self.assertEqual(len(marks(svg, "line", "whisker")), 1)
        self.assertEqual(words(svg).count("not measured"), 1)
        for text in ("A <title> & more", "segq", "nginx", "64", "256", "connections", "polls/s"):
            self.assertIn(text, words(svg))

    def test_segq_and_its_peers_have_colours_of_their_own(self):
        self.assertEqual(chart.colours(["segq, a", "nginx, a", "segq, b", "nginx, b"]),
                         [0, 4, 1, 5])
        self.assertEqual(chart.colours(["a", "b"]), [0, 4])
        for n in range(1, 30):
            for names in ([f"s{i}" for i in range(n)], [f"segq{i}" for i in range(n)] + ["p"]):
                got = chart.colours(names)
                self.assertTrue(all(0 <= c < len(chart.LIGHT) for c in got))
                self.assertEqual(len(set(got[:6])), min(len(got), 6))

    def test_longer_bars_are_greater_figures(self):
        svg = chart.draw({"kind": "bars", "series": {"a": [["x", 10], ["y", 30]]}})
        short, long_ = (float(e.get("width")) for e in marks(svg, "rect", "bar"))
        self.assertAlmostEqual(long_ / short, 3, places=1)

    def test_lines_leave_out_what_is_no_number(self):
        svg = chart.draw({"kind": "lines", **self.SPEC})
        self.assertEqual(len(marks(svg, "circle", "dot")), 3)
        self.assertEqual(len(marks(svg, "polyline", "line")), 1)
        self.assertEqual(words(svg).count("segq"), 2)  # legend, and at the line's end

    def test_log_axes_leave_out_zero(self):
        svg = chart.draw({"kind": "lines", "log_x": True, "log_y": True, **self.SPEC})
        self.assertEqual(len(marks(svg, "circle", "dot")), 2)

    def test_marks_stay_on_the_page(self):
        series = {f"s{i}": [[10 ** k, 7.0 ** k * (i + 1)] for k in range(6)] for i in range(6)}
        svg = chart.draw({"kind": "lines", "log_x": True, "log_y": True, "series": series})
        height = float(ET.fromstring(svg).get("height"))
        dots = marks(svg, "circle", "dot")
        self.assertEqual(len(dots), 36)
        for e in dots:
            self.assertTrue(0 < float(e.get("cx")) < chart.W and 0 < float(e.get("cy")) < height)

    def test_nothing_measured_is_a_chart_that_says_so(self):
        for series in ({}, {"a": []}, {"a": [[1, None]]}):
            self.assertIn("nothing was measured",
                          words(chart.draw({"kind": "lines", "series": series})))
        ET.fromstring(chart.draw({"kind": "bars", "series": {}}))
        self.assertIn("nothing was measured", words(chart.scores("t", [])))

    def test_it_follows_the_reader_and_loads_nothing(self):
        svg = chart.draw({"kind": "bars", **self.SPEC})
        self.assertIn("prefers-color-scheme:dark", svg)
        self.assertEqual(svg.count("http"), 1)  # the name space

    def test_scores_are_filled_or_hollow(self):
        rows = [{"name": "a", "score": 2, "lo": 1.5, "hi": 3, "met": True, "text": "x"},
                {"name": "b", "score": 0.5, "lo": None, "hi": None, "met": False, "text": "y"},
                {"name": "c", "score": None, "lo": None, "hi": None, "met": False, "text": "z"}]
        svg = chart.scores("t", rows)
        self.assertEqual(len(marks(svg, "circle", "score")), 1)
        self.assertEqual(len(marks(svg, "path", "score")), 1)


class Scores(unittest.TestCase):
    def score(self, value, aim, op):
        s = stats.summary([value / 2, value, value * 4])
        return report.score(case("c", "u", s, ratio=s, aim=aim, aim_op=op))

    def test_above_one_is_met_whichever_way_the_aim_points(self):
        up, down = self.score(2.2, 1.1, ">="), self.score(0.5, 1.5, "<=")
        self.assertEqual((up["score"], up["lo"], up["hi"], up["met"]), (2, 1, 8, True))
        self.assertEqual((down["score"], down["lo"], down["hi"]), (3, 0.75, 6))

    def test_no_aim_or_no_figure_has_no_score(self):
        self.assertIsNone(report.score(case("c", "u", None)))
        self.assertIsNone(report.score(case("c", "u", stats.summary([1]))))
        self.assertIsNone(report.score(case("c", "u", None, aim=1, aim_on="segq")))


class Report(Folder):
    def test_terminal_table_is_aligned_and_plain_when_no_terminal(self):
        out = io.StringIO()
        report.say_row(some_row(), out)
        head, first = out.getvalue().splitlines()[2:4]
        self.assertEqual(head.index("segq"), first.index("110 (100 .. 120)"))
        self.assertEqual(head.index("nginx"), first.index("100 (80 .. 100)"))
        self.assertTrue(first.endswith(">= 1.1  met"), first)
        self.assertNotIn("\033", out.getvalue())
        self.assertIn("cpu_us 7.2", out.getvalue())

    def test_colour_on_a_terminal(self):
        out = io.StringIO()
        out.isatty = lambda: True
        report.say_row(some_row(met=False), out)
        self.assertIn(report.RED, out.getvalue())
        self.assertIn("missed", out.getvalue())

    def test_everything_is_in_the_page(self):
        result = some_result([some_row(), some_row("other", met=False)],
                             {"joins": "redis-server is missing"})
        report.write(result, self.out)
        page = self.text("bench.md")
        for text in ("1 of 2 aims met", "## Polls a second", "110 (100 .. 120)", ">= 1.1",
                     "a note", "a \\| pipe", "joins: redis-server is missing", "**quiet**",
                     "![Polls a second](charts/polls.svg)", "(charts/summary.svg)"):
            self.assertIn(text, page)
        self.assertEqual(len(marks(self.text("charts/polls.svg"), "rect", "bar")), 4)
        self.assertEqual(len(marks(self.text("charts/summary.svg"), "circle", "score")), 1)
        self.assertEqual(len(marks(self.text("charts/summary.svg"), "path", "score")), 1)

    def test_an_empty_run_has_a_page_too(self):
        result = some_result([], {"a": "why"})
        result["not_run"] = ["b"]
        report.write(result, self.out)
        self.assertIn("a: why", self.text("bench.md"))
        self.assertIn("b: not run", self.text("bench.md"))
        self.assertEqual(os.listdir(os.path.join(self.out, "charts")), [])

    def test_figures_without_numbers(self):
        nothing = {"median": None, "min": None, "max": None, "rounds": [None]}
        r = row("r", "t", "w", [case("c", "u", nothing, nothing, "p"), case("d", "u", 0, 0, "p")])
        report.write(some_result([r]), self.out)
        self.assertIn("| c | u | - | - |", self.text("bench.md"))
        self.assertIn("| d | u | 0 | 0 |", self.text("bench.md"))


class Bench(Folder):
    def run_rows(self, *fns):
        """bench.run_all over rows made of functions; (whole?, result)."""
        mods = [types.SimpleNamespace(ID=f"r{i}", ORDER=i, __doc__="What it does.", run=fn)
                for i, fn in enumerate(fns)]
        args = bench.parse(["--quick", "--out", self.out])
        result = {"rows": [], "failed": {}, "not_run": [], "took": {},
                  "settings": bench.settings(args)}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            whole = bench.run_all(mods, args, result, types.SimpleNamespace(probe=lambda: None))
        return whole, result

    def test_a_row_that_fails_costs_only_itself_and_is_cleaned_up(self):
        ended = []

        def broken(ctx):
            ctx.at_end(lambda: ended.append(1))
            ctx.at_end(lambda: 1 / 0)
            raise procs.Failed("no peer here")
        whole, result = self.run_rows(broken, lambda ctx: [some_row()])
        self.assertTrue(whole)
        self.assertEqual(result["failed"], {"r0": "no peer here"})
        self.assertEqual((ended, len(result["rows"])), ([1], 1))

    def test_ctrl_c_keeps_what_there_is(self):
        def ended(ctx):
            raise KeyboardInterrupt
        whole, result = self.run_rows(lambda ctx: [some_row()], ended, ended)
        self.assertFalse(whole)
        self.assertEqual((len(result["rows"]), result["not_run"]), (1, ["r1", "r2"]))
        self.assertEqual(len(json.loads(self.text("bench.json"))["rows"]), 1)

    def test_a_slow_machine_costs_rounds_and_not_rows(self):
        ctx = bench.Ctx(bench.parse(["--rounds", "5"]), "")
        ctx.say = lambda text: None
        self.assertEqual(list(ctx.each("alone")), [0, 1, 2, 3, 4])
        self.assertEqual(list(ctx.each("at most", 3)), [0, 1, 2])
        ctx.share_s, ctx.began = 10, time.monotonic() - 15
        self.assertEqual(list(ctx.each("late")), [0, 1])
        ctx.began -= 10
        self.assertEqual(list(ctx.each("very late")), [0])
        ctx.share_s, ctx.began = 10, time.monotonic() - 6
        self.assertEqual(list(ctx.each("first half", None, 0, 2)), [0, 1])
        self.assertEqual(list(ctx.each("second half", None, 1, 2)), [0, 1, 2, 3, 4])
        self.assertEqual(ctx.cut, ["late: 2 of 5 rounds", "very late: 1 of 5 rounds",
                                   "first half: 2 of 5 rounds"])

    def test_a_row_has_its_share_of_the_time_that_is_left(self):
        mods = [types.SimpleNamespace(), types.SimpleNamespace(SHARE=4), types.SimpleNamespace()]
        self.assertEqual([bench.share_of(mods, i, 60) for i in range(3)], [10, 48, 60])
        self.assertEqual(bench.share_of(mods, 0, -5), 0)

    def test_the_file_is_json_without_nan(self):
        self.run_rows(lambda ctx: [row("r", "t", "w", [case("c", "u", (NAN, math.inf, 1))])])
        got = json.loads(self.text("bench.json"))
        self.assertEqual(got["rows"][0]["cases"][0]["segq"], [None, None, 1])

    def test_time_left_comes_from_an_earlier_run_of_the_same_kind(self):
        self.run_rows(lambda ctx: [some_row()])
        same, other = (bench.parse(a + ["--out", self.out]) for a in (["--quick"], []))
        self.assertEqual(list(bench.earlier(same)), ["r0"])
        self.assertEqual(bench.earlier(other), {})
        self.assertEqual(bench.time_left(["a", "b", "c"], {"a": 60, "b": 120}),
                         "about 4 min left")
        self.assertEqual(bench.time_left(["a"], {}), "")

    def test_every_row_file_names_itself(self):
        mods = bench.find_rows(None)
        self.assertGreater(len(mods), 0)
        self.assertEqual(len({m.ID for m in mods}), len(mods))
        for m in mods:
            self.assertTrue(m.__doc__.splitlines()[0].strip(), m.ID)
            self.assertTrue(callable(m.run), m.ID)


class Machine(unittest.TestCase):
    def test_a_probe_measures_and_leaves_the_cores_alone(self):
        before = os.sched_getaffinity(0)
        meter = machine.Meter()
        meter.probe()
        meter.probe()
        self.assertEqual(os.sched_getaffinity(0), before)
        got = meter.summary()
        self.assertEqual(len(got["probe_ms"]["rounds"]), 2)
        self.assertGreater(got["probe_ms"]["min"], 0.1)
        self.assertIn(got["verdict"], ("quiet", "uneasy", "noisy"))

    def test_verdicts(self):
        lost = stats.summary([0.1])
        self.assertEqual(machine.verdict(0.02, lost, 0.0), "quiet")
        self.assertEqual(machine.verdict(0.15, lost, 0.0), "quiet")
        self.assertEqual(machine.verdict(0.16, lost, 0.0), "uneasy")
        self.assertEqual(machine.verdict(0.02, lost, 9.0), "noisy")
        self.assertEqual(machine.verdict(0.0, None, 0.0), "not measured")

    def test_only_a_quiet_machine_may_stand_in_a_document(self):
        result = some_result([])
        self.assertIsNone(machine.refusal(result))
        result["quick"] = True
        self.assertIn("quick", machine.refusal(result))
        result["quick"] = False
        result["machine"]["noise"].update(verdict="noisy", probe_spread=1.57)
        self.assertIn("157 % (at most 15)", machine.refusal(result))
        result["machine"]["noise"].update(verdict="not measured", lost_pct=None)
        self.assertIn("not measured", machine.refusal(result))


class Readme(unittest.TestCase):
    def test_a_run_of_some_rows_is_refused(self):
        result = some_result([{**some_row(), "from": "polls"}], {"joins": "no peer"})
        self.assertIsNone(readme.refusal(result, ["polls", "joins"]))
        self.assertIn("no rows idle", readme.refusal(result, ["polls", "joins", "idle"]))

    def test_a_noisy_machine_has_ratios_by_cpu_and_bytes_alone(self):
        two = stats.summary([2.0])
        cases = [case("64 connections", "polls/s", two, two, "nginx", two, aim=1),
                 case("64 connections, CPU", "us/poll", two, two, "nginx", two, aim=1),
                 case("a task", "bytes", stats.summary([60])), case("CPU alone", "us", two)]
        result = some_result([{**row("polls", "Polls", "w", cases), "from": "polls"}], {"joins": "no peer"})
        self.assertIn("64 connections | 2 | 2 nginx", readme.block(result).replace(", polls/s", ""))
        result["machine"]["noise"].update(verdict="noisy", probe_spread=1.57)
        self.assertIsNone(readme.refusal(result, ["polls", "joins"]))
        self.assertIn("Ratios by CPU", readme.picture(result))
        got = readme.block(result)
        self.assertIn("**Ratios by CPU only**", got)
        self.assertEqual([l for l in got.split("\n") if l.startswith("| P") or l.startswith("| j")],
                         ["| Polls: 64 connections, CPU, us/poll | nginx | 2 | >= 1 met |",
                          "| Polls: a task, bytes |  | 60 bytes |   |",
                          "| joins | | could not be measured: no peer | |"])

    def test_rate_and_cpu_of_a_row_are_both_in_the_table(self):
        cases = [case("64 connections", "polls/s", 1), case("64 connections, CPU", "us/poll", 2)]
        lines = list(readme.lines_of(row("joins", "Joins", "w", cases)))
        self.assertEqual(len(lines), 2)
        self.assertIn("CPU", lines[1])


class Sizing(unittest.TestCase):
    def test_intervals_come_from_pace_c(self):
        few, line = sizing.told([(100, 500, 20000, 1000, 30000), (10**6, 50, 20000, 1000, 30000)])
        self.assertEqual(few[2], 1)  # less than the budget: everybody at the minimum
        self.assertLessEqual(line[0], line[1])
        self.assertLessEqual(line[1], line[2])
        self.assertGreater(line[2], 30)  # a million at 20 000/s: 50 s on average
        self.assertTrue(1 <= line[3] <= 1.11, line)  # a slow line: nobody is late

    def page(self):
        with open(os.path.join(ROOT, "deploy/SIZING.md"), encoding="utf-8") as f:
            return f.read()

    def test_the_page_says_what_is_computed(self):
        self.assertEqual(sizing.rewritten(self.page()), self.page())

    def test_another_constant_makes_another_page(self):
        page = self.page()
        changed = sizing.with_constants(page, {"c_r": 2 * sizing.constants(page)["c_r"]}, "x")
        self.assertNotEqual(sizing.rewritten(changed), changed)

    def test_constants_come_from_a_run(self):
        got = sizing.from_bench({"rows": []})
        self.assertEqual(got, {})
        name, row_id, what, place = sizing.SOURCES[0]
        c = case(what, "us", stats.summary([3.25]), **{place.split(".")[-1]: stats.summary([3.25])})
        got = sizing.from_bench({"rows": [row(row_id, "t", "w", [c])]})
        self.assertEqual(got[name], 3.25)

    def test_more_players_never_need_less(self):
        k = sizing.constants(self.page())
        sizes = [sizing.size(k, 10 ** e, 60, 20000) for e in range(5, 9)]
        for a, b in zip(sizes, sizes[1:]):
            for key in ("routers", "segments", "memory_bytes", "router_us"):
                self.assertLessEqual(a[key], b[key], key)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_kit: {got.testsRun - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
