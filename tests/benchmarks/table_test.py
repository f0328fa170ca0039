"""benchmarks/table: the tables that it makes of what benchmark programs print."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "benchmarks" / "table"


def run(text, *options, expected=0):
    """Returns what the script prints of a file with the text; of a failure, the message."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "figure.json"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, TABLE, *options, path], capture_output=True,
                              encoding="utf-8", check=False)
    assert done.returncode == expected, done.stderr
    return done.stdout if expected == 0 else done.stderr


def lines(*objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


def cell(row, column, *values):
    return {"row": row, "column": column, "values": values}


def google_run(name, time, kind="iteration", **more):
    return {"run_name": name, "run_type": kind, "time_unit": "us", "real_time": time,
            "cpu_time": time / 2, **more}


def google(program, *runs):
    return json.dumps({"context": {"executable": f"build/release/bin/{program}"},
                       "benchmarks": runs})


class Measurements(unittest.TestCase):
    def test_a_cell_has_the_median_and_the_quartiles(self):
        text = run(lines({"table": "a", "labels": ["way"]}, cell(["ours"], "ms", 1, 2, 3, 4, 50)))
        self.assertEqual(text, "<!-- table: a -->\n\n"
                         "| way | ms |\n|---|---|\n| ours | 3 (2.00–4.00) |\n\n")

    def test_a_ratio_is_the_median_of_the_rounds_ratios(self):
        peer = {"label": "peer", "column": "ms", "title": "over peer"}
        rows = [cell(["ours"], "ms", 1.0, 8.0, 3.0), cell(["peer"], "ms", 2.0, 2.0, 2.0)]
        text = run(lines({"table": "a", "labels": ["way"], "peer": peer}, *rows))
        self.assertIn("| ours | 3.00 (2.00–5.50) | 1.50 (1.00–2.75) |", text)
        text = run(lines({"table": "a", "labels": ["way"], "peer": peer | {"is_speed": True}},
                         *rows))
        self.assertIn("| ours | 3.00 (2.00–5.50) | 0.667 (0.458–1.33) |", text)

    def test_rows_have_the_peer_of_their_own_labels(self):
        peer = {"label": "peer", "column": "ms", "title": "over peer"}
        text = run(lines({"table": "a", "labels": ["size", "way"], "peer": peer},
                         cell(["1", "peer"], "ms", 2.0), cell(["1", "ours"], "ms", 1.0),
                         cell(["16", "peer"], "ms", 10.0), cell(["16", "ours"], "ms", 20.0)))
        self.assertIn("| 1 | peer | 2.00 | 1 |\n| | ours | 1.00 | 0.500 |\n", text)
        self.assertIn("| 16 | peer | 10.0 | 1 |\n| | ours | 20.0 | 2.00 |\n", text)

    def test_a_missing_cell_is_empty(self):
        text = run(lines({"table": "a", "labels": ["way"]}, cell(["x"], "ms", 1.0),
                         cell(["y"], "MB", 2.0)))
        self.assertIn("| x | 1.00 | |\n| y | | 2.00 |\n", text)

    def test_counts_are_whole_and_other_numbers_have_three_digits(self):
        text = run(lines({"table": "a", "labels": ["way"]}, cell(["x"], "n", 288001),
                         cell(["x"], "s", 118775.4), cell(["x"], "ms", 0.04567)))
        self.assertIn("| x | 288,001 | 118,775 | 0.0457 |", text)

    def test_a_file_may_have_several_tables(self):
        both = lines({"table": "a", "labels": ["way"]}, cell(["x"], "ms", 1.0),
                     {"table": "b", "labels": ["way"]}, cell(["y"], "ms", 2.0))
        self.assertIn("<!-- table: a -->", run(both))
        self.assertNotIn("<!-- table: a -->", run(both, "--only", "b"))

    def test_columns_and_names_are_chosen(self):
        text = run(lines({"table": "a", "labels": ["way"]}, cell(["x"], "ms", 1.0),
                         cell(["x"], "MB", 2.0)), "--columns", "MB", "--name", "other")
        self.assertIn("<!-- table: other -->\n\n| way | MB |\n", text)


class Google(unittest.TestCase):
    def test_repetitions_become_median_and_quartiles(self):
        runs = [google_run("BM_A/1", time) for time in (10, 20, 30, 40, 50)]
        runs.append(google_run("BM_A/1", 30, "aggregate", aggregate_name="median"))
        self.assertIn("| BM_A/1 | 30.0 (20.0–40.0) |", run(google("unknown", *runs)))

    def test_aggregates_become_median_and_variation(self):
        runs = [google_run("BM_A/1", 0.03, "aggregate", aggregate_name="median", time_unit="ms"),
                google_run("BM_A/1", 0.0213, "aggregate", aggregate_name="cv", time_unit="ms",
                           aggregate_unit="percentage")]
        self.assertIn("| BM_A/1 | 30.0 (2.13 %) |", run(google("unknown", *runs)))

    def test_a_layout_names_rows_and_converts_units(self):
        text = run(google("trace_transfer_benchmark",
                          google_run("BM_Send/real_time", 500_000.0, bytes_per_second=128 << 20),
                          google_run("BM_Copy/real_time", 100_000.0, bytes_per_second=640 << 20)))
        self.assertIn("<!-- table: trace-transfer -->\n\n"
                      "| a file of 64 MiB | time, ms | MiB/s | over the copy |\n", text)
        self.assertIn("| send to the daemon | 500 | 128 | 5.00 |\n", text)
        self.assertNotIn("fetch", text)

    def test_processor_time_is_told_from_elapsed_time(self):
        text = run(google("counters_benchmark", google_run("Step/2", 3.0)))
        self.assertIn("| a step, 2 ranks | 1.50 |", text)

    def test_layouts_have_a_cell_for_each_column(self):
        layouts = json.loads((ROOT / "benchmarks/layouts.json").read_text(encoding="utf-8"))
        for program, tables in layouts.items():
            for table in tables:
                width = len(table["labels"]) + len(table["columns"])
                for row in table["rows"]:
                    self.assertEqual(len(row), width, (program, row))


class Searches(unittest.TestCase):
    @staticmethod
    def regret(table, method, mean, close):
        return {"table": table, "method": method, "regret": [
            {"trials": 5, "mean_regret": mean, "standard_error": 0.0005,
             "within_2_percent": close}]}

    def test_regrets_by_table_and_over_all(self):
        text = run(json.dumps([self.regret("a", "model", 0.01, 1), self.regret("a", "tpe", 0.2, 0),
                               self.regret("b", "model", 0.04, 0.5)]), "--name", "search")
        self.assertIn("| table | method | 5 |\n|---|---|---|\n| a | model | 1.00 ± 0.05 |\n"
                      "| | tpe | 20.00 ± 0.05 |\n| b | model | 4.00 ± 0.05 |\n", text)
        self.assertIn("<!-- table: search-means -->\n\n| method | 5 |\n|---|---|\n"
                      "| model | 2.50, 75 % |\n", text)
        self.assertIn("<!-- table: search-geometric -->\n\n| method | 5 |\n|---|---|\n"
                      "| model | 2.00 |\n", text)

    def test_predictions_by_configuration(self):
        config = {"partition_bytes": 1 << 18, "credit_bytes": 1 << 20, "comm_channels": 1}
        found = [{"config": config | {"order": order}, "measured_ns": [656e6], "error": error,
                  "predicted_ns": predicted} for order, predicted, error in
                 (("fifo", 640e6, -0.03), ("static", 669e6, 0.02))]
        text = run(json.dumps({"configurations": found, "median_error": 0.025,
                               "kendall_tau_b": 0.8}), "--name", "accuracy")
        self.assertIn("| parts, 1 channel | window | fifo | static |", text)
        self.assertIn("| 256 KiB | 1 MiB | 656 → 640 (−3 %) | 656 → 669 (+2 %) |", text)
        self.assertIn("| 2 | 2.5 % | 0.80 |", text)


class Pages(unittest.TestCase):
    NEW = lines({"table": "a", "labels": ["way"]}, cell(["x"], "ms", 1.0))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = pathlib.Path(folder.name) / "page.md"

    def test_the_table_below_the_line_is_replaced(self):
        self.page.write_text("Before.\n\n<!-- table: a -->\n\n| old |\n|---|\n| 1 |\n\nAfter.\n"
                             "\n| other |\n|---|\n", encoding="utf-8")
        run(self.NEW, "--into", self.page)
        self.assertEqual(self.page.read_text(encoding="utf-8"),
                         "Before.\n\n<!-- table: a -->\n\n| way | ms |\n|---|---|\n| x | 1.00 |\n"
                         "\nAfter.\n\n| other |\n|---|\n")

    def test_a_page_without_the_line_is_an_error_and_stays(self):
        self.page.write_text("| old |\n", encoding="utf-8")
        message = run(self.NEW, "--into", self.page, expected=1)
        self.assertIn('no page has the line "<!-- table: a -->"', message)
        self.assertEqual(self.page.read_text(encoding="utf-8"), "| old |\n")

    def test_the_benchmark_pages_have_each_table_of_a_layout(self):
        pages = "".join(path.read_text(encoding="utf-8")
                        for path in sorted((ROOT / "docs").glob("BENCHMARKS*.md")))
        layouts = json.loads((ROOT / "benchmarks/layouts.json").read_text(encoding="utf-8"))
        for tables in layouts.values():
            for table in tables:
                self.assertEqual(pages.count(f"<!-- table: {table['table']} -->\n\n|"), 1,
                                 table["table"])


if __name__ == "__main__":
    unittest.main()
