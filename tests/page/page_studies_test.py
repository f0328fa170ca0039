"""The studies: one of a single objective with failed trials, and one of two objectives."""

import re

from playwright.sync_api import expect

from page_browser import PageTest, main

PLOTS = {"Convergence": "convergence", "Slices": "slices", "Contour": "contour",
         "Parallel coordinates": "parallel", "Importance": "importance",
         "Predicted against measured": "predicted"}


class PageStudies(PageTest):
    studies = True

    def trials(self, study="shaped"):
        return self.world.get(f"/v1/studies/{study}/trials")["trials"]

    def tab(self, name):
        link = self.page.get_by_role("navigation", name="Parts of the study").get_by_role(
            "link", name=name, exact=True)
        link.click()
        # The address changes before the tab does.
        expect(link).to_have_attribute("aria-current", re.compile("page|true"))

    def plot(self):
        return self.page.locator("hk-plot").get_by_role("img")

    def marks(self):
        return self.page.locator("hk-plot svg [data-trial]")

    def test_the_list_has_both_and_says_what_came_of_them(self):
        self.open("#/studies")
        table = self.page.get_by_role("table", name="Studies of the store")
        shaped = table.get_by_role("row").filter(has_text="shaped")
        gain = self.world.get("/v1/studies/shaped")["result"]["gain"]
        expect(shaped).to_contain_text(f"{100 * gain:.1f} %")
        expect(table.get_by_role("row").filter(has_text="two-sided")).to_contain_text("front of")
        self.screenshot("studies-light-1280")
        shaped.get_by_role("link").first.click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("shaped")
        expect(self.page.get_by_role("table", name="Default and best setting")).to_contain_text(
            "BUCKET")

    def test_the_trials_are_listed_and_sorted_and_say_why_they_ran(self):
        self.open("#/studies/shaped")
        table = self.page.get_by_role("table", name="Trials")
        expect(table.get_by_role("row")).to_have_count(len(self.trials()) + 1)
        expect(table).to_contain_text("out of memory")
        expect(table.get_by_role("columnheader", name="Why it was run")).to_be_visible()
        head = table.get_by_role("columnheader", name="step (ms)")
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", re.compile("ascending|descending"))
        expect(self.page).to_have_url(re.compile("sort="))
        if head.get_attribute("aria-sort") == "descending":
            head.get_by_role("button").click()
            expect(head).to_have_attribute("aria-sort", "ascending")
        best = min(trial["value"] for trial in self.trials() if "value" in trial)
        first = table.get_by_role("row").nth(1)
        expect(first).to_contain_text(f"{best:.4g}")
        self.screenshot("study-light-1280")

    def test_no_column_of_the_trials_is_cut_and_rows_have_two_lines_at_most(self):
        knobs = ("part_of_bytes", "window_bytes", "channels", "threads", "queue_batches",
                 "buckets_bytes", "queue_depth")
        for name, ranges in ("six", knobs[:5]), ("eight", knobs):
            space = [word for knob in ranges for word in ("--param", f"{knob}=int:1..8388608:log")]
            self.world.hocket(
                "tune", "--study", name, *space, "--param", "algorithm=choice:recursive,tree",
                "--objective", "regex:ms=([0-9.]+)", "--trials", "4", "--all-trials", "--confirm",
                "2", "--", "sh", "-c",
                '[ "$algorithm" = tree ] && echo "out of memory in a very long message of many '
                'words that no cell could hold in two lines" >&2 && exit 1; '
                "echo ms=$threads; : {part_of_bytes}", statuses=(0, 3))
        for study in ("shaped", "six", "eight"):
            with self.subTest(study):
                self.open(f"#/studies/{study}")
                table = self.page.get_by_role("table", name="Trials")
                expect(table.get_by_role("columnheader", name="Why it was run")).to_be_visible()
                scroll, cells = table.evaluate("""(table) => {
                  const scroll = table.parentElement;
                  const lines = [...table.querySelectorAll("tbody :is(th, td)")].map((cell) => {
                    const style = getComputedStyle(cell);
                    const inner = cell.clientHeight - parseFloat(style.paddingTop) -
                      parseFloat(style.paddingBottom);
                    return inner / parseFloat(style.lineHeight);
                  });
                  return [scroll.scrollWidth - scroll.clientWidth, Math.max(...lines)];
                }""")
                table.scroll_into_view_if_needed()
                self.screenshot(f"trials-{study}-light-1280")
                self.assertLessEqual(scroll, 0, "pixels by which the table is cut")
                self.assertLess(cells, 2.5, "lines of the highest row")

    def test_each_plot_appears(self):
        self.open("#/studies/shaped")
        for name, address in PLOTS.items():
            with self.subTest(name):
                self.tab(name)
                expect(self.page).to_have_url(re.compile(f"tab={address}"))
                expect(self.plot()).to_be_visible()
                box = self.plot().bounding_box()
                self.assertGreater(box["width"], 300)
                self.assertGreater(box["height"], 150)
                self.screenshot(f"study-{address}-light-1280")
        self.tab("Why")
        expect(self.page.get_by_role("table", name="Why each trial was run").get_by_role("row")
               ).not_to_have_count(1)
        expect(self.page.get_by_role("link", name="Pareto front")).to_have_count(0)

    def test_the_contour_is_of_the_two_that_were_chosen(self):
        self.open("#/studies/shaped?tab=contour")
        expect(self.plot()).to_be_visible()
        for across, up in (("WINDOW", "BUCKET"), ("MODE", "WINDOW")):
            with self.page.expect_response(lambda answer: f"x={across}" in answer.url and
                                           f"y={up}" in answer.url) as drawn:
                self.page.get_by_label("Across").select_option(across)
                self.page.get_by_label("Up").select_option(up)
            self.assertEqual(drawn.value.status, 200)
            self.assertIn("image/svg+xml", drawn.value.headers["content-type"])
            text = self.page.locator("hk-plot svg")
            expect(text).to_contain_text(across)
            expect(text).to_contain_text(up)
            expect(self.page).to_have_url(re.compile(f"x={across}"))

    def test_a_trial_is_selected_in_a_plot_and_stays_so(self):
        self.open("#/studies/shaped?tab=convergence")
        mark = self.page.locator("hk-plot svg circle[data-trial='5']").first
        mark.click(force=True)
        panel = self.page.get_by_role("region", name="Selected trial")
        expect(panel).to_contain_text("Trial 5")
        expect(self.page).to_have_url(re.compile("trial=5"))
        self.tab("Parallel coordinates")
        expect(panel).to_contain_text("Trial 5")
        panel.get_by_role("button", name="Next trial").click()
        expect(panel).to_contain_text("Trial 6")
        expect(panel.get_by_role("button", name="Next trial")).to_be_focused()

    def test_the_keyboard_alone_reads_a_plot(self):
        self.open("#/studies/shaped?tab=convergence")
        expect(self.plot()).to_be_visible()
        frame = self.page.locator("hk-plot").get_by_role("group").first
        frame.focus()
        self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press("Enter")
        expect(self.page).to_have_url(re.compile("trial="))
        self.page.keyboard.press("Escape")
        expect(self.page).not_to_have_url(re.compile("trial="))
        before = self.page.locator("hk-plot svg").first.get_attribute("viewBox")
        self.page.keyboard.press("+")
        expect(self.page.locator("hk-plot svg").first).not_to_have_attribute("viewBox", before)
        self.page.keyboard.press("0")
        expect(self.page.locator("hk-plot svg").first).to_have_attribute("viewBox", before)

    def test_brushing_filters(self):
        self.open("#/studies/shaped?tab=parallel")
        table = self.page.get_by_role("table", name="Trials in these ranges")
        expect(table.get_by_role("row")).to_have_count(len(self.trials()) + 1)
        self.page.get_by_label("BUCKET, at most").fill("12")
        self.page.keyboard.press("Tab")
        kept = [trial for trial in self.trials() if trial["params"]["BUCKET"] <= 12]
        self.assertNotIn(len(kept), (0, len(self.trials())))
        expect(table.get_by_role("row")).to_have_count(len(kept) + 1)
        expect(self.page).to_have_url(re.compile("b.BUCKET"))
        self.page.get_by_role("checkbox", name="eager").check()
        kept = [trial for trial in kept if trial["params"]["MODE"] == "eager"]
        expect(table.get_by_role("row")).to_have_count(len(kept) + 1)
        self.page.get_by_role("button", name="Show all trials").click()
        expect(table.get_by_role("row")).to_have_count(len(self.trials()) + 1)

    def test_brushing_an_axis_filters(self):
        self.open("#/studies/shaped?tab=parallel")
        table = self.page.get_by_role("table", name="Trials in these ranges")
        expect(self.plot()).to_be_visible()
        area = self.page.locator("hk-plot svg rect.brush-area").first
        area.scroll_into_view_if_needed()
        box = area.bounding_box()
        middle = box["x"] + box["width"] / 2
        self.page.mouse.move(middle, box["y"] + 2)
        self.page.mouse.down()
        self.page.mouse.move(middle, box["y"] + box["height"] * 0.3)
        self.page.mouse.move(middle, box["y"] + box["height"] * 0.45)
        self.page.mouse.up()
        expect(self.page.get_by_text(re.compile(r"of \d+ trials in these ranges"))).to_be_visible()
        shown = table.get_by_role("row").count() - 1
        self.assertGreater(shown, 0)
        self.assertLess(shown, len(self.trials()))
        area.click()
        expect(table.get_by_role("row")).to_have_count(len(self.trials()) + 1)

    def test_two_objectives_have_a_front(self):
        self.open("#/studies/two-sided?tab=front")
        expect(self.plot()).to_be_visible()
        front = self.world.get("/v1/studies/two-sided")["result"]["front"]
        table = self.page.get_by_role("table", name="The front")
        expect(table.get_by_role("row")).to_have_count(len(front) + 1)
        expect(table).to_contain_text("confirmed")
        self.screenshot("study-front-light-1280")

    def test_a_study_that_runs_is_kept_up_to_date(self):
        definition = {
            "format": "hocket-study", "version": 1, "trials": 12, "seed": 1, "skip": 0,
            "confirm_pairs": 0, "working_directory": "/", "time_limit_ns": 10**9,
            "objective": "wall", "space": {"format": "hocket-space", "version": 1, "parameters": [
                {"name": "x", "type": "float", "low": 0, "high": 4, "log": False, "default": 1}]}}
        self.world.send("POST", "/v1/studies", {"study": "remote", "definition": definition,
                                                "command": ["work"]})
        self.watch.allow("explanation")  # refused while too few trials have completed
        self.open("#/studies/remote")
        expect(self.page.get_by_text("No trial has begun yet")).to_be_visible()
        for number in range(1, 4):
            asked = self.world.send("POST", "/v1/studies/remote/ask", {"worker": "one"})
            self.world.send("POST", "/v1/studies/remote/tell", {
                "trial": asked["trial"], "status": "complete", "value": 1e9 * number})
            expect(self.page.get_by_role("table", name="Trials").get_by_role("row")
                   ).to_have_count(number + 1)


if __name__ == "__main__":
    main()
