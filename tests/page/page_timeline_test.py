"""The timeline of two ranks: drawing, moving, searching, ranges, and two profiles on one scale."""

import re

from playwright.sync_api import expect

from page_browser import PageTest, main
from page_views import TIMELINE_DRAWN as DRAWN

# The number of colours in the canvas, of every seventh pixel.
COLOURS = """(canvas) => {
  const { width, height } = canvas;
  const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  const found = new Set();
  for (let i = 0; i < data.length; i += 28)
    found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return found.size;
}"""


class PageTimeline(PageTest):
    profiles = True

    def open_timeline(self, more=""):
        self.open(f"#/timeline/{self.profile_names[0]}{more}")
        self.until(DRAWN)
        return self.page.get_by_role("application").first

    def visible(self):
        """The visible range in nanoseconds, once it rests in the address."""
        found = re.search(r"from=(\d+)&to=(\d+)", self.page.url)
        return tuple(map(int, found.groups())) if found else None

    def press(self, key, count=1):
        """Presses a key of the canvas, and waits for the address to have another range."""
        before = self.page.url
        for _ in range(count):
            self.page.keyboard.press(key)
        expect(self.page).not_to_have_url(before)
        return self.visible()

    def test_the_list_leads_to_a_timeline(self):
        self.open("#/timeline")
        self.page.get_by_role("link", name=self.profile_names[0]).click()
        self.until(DRAWN)
        expect(self.page.get_by_role("application")).to_have_accessible_name(
            re.compile(r"2 ranks, \d+ lanes"))

    def test_it_draws_all_ranks_and_lanes(self):
        canvas = self.open_timeline()
        self.assertGreater(canvas.evaluate(COLOURS), 8)
        layout = self.world.get(f"/v1/profiles/{self.profile_names[0]}/timeline")
        self.assertEqual([rank["rank"] for rank in layout["ranks"]], [0, 1])
        for rank in (0, 1):
            expect(self.page.get_by_role("button", name=f"rank {rank}")).to_be_visible()
        self.screenshot("timeline-light-1280")
        # A rank that is closed takes less room.
        title = next(lane["title"] for lane in layout["lanes"] if lane["kind"] == "compute")
        lanes = self.page.get_by_text(title, exact=True)
        expect(lanes).to_have_count(2)
        self.page.get_by_role("button", name="rank 1").click()
        expect(lanes).to_have_count(1)

    def test_keys_zoom_and_pan_and_the_address_follows(self):
        canvas = self.open_timeline()
        self.assertIsNone(self.visible())
        canvas.focus()
        begin, end = self.press("w", 3)
        closer = self.press("w")
        self.assertLess(closer[1] - closer[0], end - begin)
        right = self.press("d")
        self.assertGreater(right[0], closer[0])
        left = self.press("ArrowLeft")
        self.assertLess(left[0], right[0])
        wider = self.press("s")
        self.assertGreater(wider[1] - wider[0], left[1] - left[0])
        self.page.keyboard.press("0")
        expect(self.page).not_to_have_url(re.compile("from="))
        # The address of a range shows that range.
        self.page.goto(f"{self.world.address}/#/timeline/{self.profile_names[0]}"
                       f"?from={begin}&to={end}")
        self.until("([from, to]) => { const { view } = document.querySelector('hk-timeline');"
                   " return Math.abs(view.from - from) < 2 && Math.abs(view.to - to) < 2; }",
                   [begin, end])

    def test_the_wheel_zooms_and_a_drag_pans(self):
        canvas = self.open_timeline()
        box = canvas.bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
        before = self.page.url
        self.page.keyboard.down("Control")
        for _ in range(4):
            self.page.mouse.wheel(0, -240)
        self.page.keyboard.up("Control")
        expect(self.page).not_to_have_url(before)
        zoomed = self.visible()
        self.assertIsNotNone(zoomed)
        before = self.page.url
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + box["width"] / 2 - 150, box["y"] + 100, steps=5)
        self.page.mouse.up()
        expect(self.page).not_to_have_url(before)
        self.assertGreater(self.visible()[0], zoomed[0])

    def test_a_search_finds_and_goes_to_a_record(self):
        self.open_timeline()
        field = self.page.get_by_role("searchbox", name="Search names of records")
        field.fill("block1.mlp")
        expect(self.page.get_by_text(re.compile(r"^[\d,]+ matches$"))).to_be_visible()
        field.press("Enter")
        panel = self.page.get_by_role("region", name="Details of the selected box")
        expect(panel.get_by_role("heading")).to_contain_text("block1.mlp")
        first = panel.inner_text()
        field.press("Enter")
        expect(panel).not_to_have_text(first)
        field.fill("no record has this name")
        expect(self.page.get_by_text("no match")).to_be_visible()

    def test_a_collective_names_its_parts_on_all_ranks(self):
        name = self.profile_names[0]
        layout = self.world.get(f"/v1/profiles/{name}/timeline")
        lane = next(i for i, lane in enumerate(layout["lanes"])
                    if lane["kind"] == "communication" and lane["rank"] == 0)
        # Ranks may begin to record at different moments, so the first records can lack partners.
        records = (self.world.get(f"/v1/profiles/{name}/timeline/record?lane={lane}&record={i}")
                   for i in range(100))
        record = next(one for one in records
                      if {part["rank"] for part in one["partners"]} == {0, 1})
        self.open_timeline()
        field = self.page.get_by_role("searchbox", name="Search names of records")
        field.fill(record["name"])
        parts = self.page.get_by_role("table", name="The same collective on all ranks")
        # Computations can have the same name, and are found as well.
        for _ in range(40):
            field.press("Enter")
            if self.page.get_by_text("Arrival skew").is_visible():
                break
            expect(self.page.get_by_role("region", name="Details of the selected box")
                   ).to_be_visible()
        expect(parts.get_by_role("button", name="rank 1")).to_be_visible()
        parts.get_by_role("button", name="rank 1").click()
        expect(self.page.get_by_role("region", name="Details of the selected box").get_by_role(
            "definition").nth(1)).to_have_text("1")
        self.screenshot("timeline-collective-light-1280")

    def test_the_next_exposed_stretch_is_jumped_to(self):
        canvas = self.open_timeline()
        canvas.focus()
        self.press("w", 4)
        panel = self.page.get_by_role("region", name="Details of the selected box")
        self.page.keyboard.press("n")
        expect(panel).to_contain_text("exposed")
        first = panel.inner_text()
        self.page.get_by_role("button", name="Next exposed stretch").click()
        expect(panel).not_to_have_text(first)
        canvas.focus()
        self.page.keyboard.press("p")
        expect(panel).to_have_text(first, use_inner_text=True)

    def test_a_range_has_its_figures(self):
        canvas = self.open_timeline()
        figures = self.page.get_by_role("region", name="Figures of this range")
        times = figures.get_by_role("table", name="Time by rank")
        expect(times.get_by_role("row")).to_have_count(3)
        expect(figures.get_by_role("table", name="What took most time")).to_be_visible()
        whole = times.inner_text()
        box = canvas.bounding_box()
        self.page.keyboard.down("Shift")
        self.page.mouse.move(box["x"] + 300, box["y"] + 80)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + 420, box["y"] + 90, steps=4)
        self.page.mouse.up()
        self.page.keyboard.up("Shift")
        expect(figures).to_contain_text("The selected range")
        expect(times).not_to_have_text(whole, use_inner_text=True)
        self.screenshot("timeline-range-light-1280")
        canvas.focus()
        self.page.keyboard.press("Escape")
        expect(figures).to_contain_text("What is visible")

    def test_another_profile_is_laid_beside_on_one_scale(self):
        first, second = self.profile_names
        self.open_timeline()
        self.page.get_by_label("Beside it").select_option(second)
        expect(self.page).to_have_url(re.compile(f"beside={second}"))
        expect(self.page.get_by_role("application")).to_have_count(2)
        self.until(DRAWN)
        for canvas in self.page.get_by_role("application").all():
            self.assertGreater(canvas.evaluate(COLOURS), 8)
        self.assertEqual(self.page.get_by_role("heading", level=2).all_inner_texts()[:2],
                         [first, second])
        canvas = self.page.get_by_role("application").last
        canvas.focus()
        self.press("w", 2)
        self.assertTrue(self.page.evaluate("""() => {
          const [one, other] = document.querySelectorAll("hk-timeline");
          return one.view.span === other.view.span && one.width === other.width;
        }"""))
        self.screenshot("timeline-beside-light-1280")

    def test_only_what_is_visible_is_fetched(self):
        canvas = self.open_timeline()
        canvas.focus()
        self.watch.requests.clear()
        self.press("w", 6)
        self.until(DRAWN)
        tiles = [url for url in self.watch.requests if "/timeline/tile" in url]
        self.assertTrue(tiles)
        self.assertLess(len(tiles), 60)

    def test_the_help_lists_the_keys(self):
        self.open_timeline().focus()
        self.page.keyboard.press("?")
        expect(self.page.get_by_text("zoom in and out", exact=False).first).to_be_visible()
        expect(self.page.get_by_role("button", name="Keys and gestures")).to_have_attribute(
            "aria-expanded", "true")


if __name__ == "__main__":
    main()
