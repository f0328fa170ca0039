"""A job on a device of limited memory, while it trains."""

import re

from playwright.sync_api import expect

from page_browser import PageTest, main
from page_world import WORKLOAD


class PagePlacement(PageTest):
    live = True
    explore = "0%"  # so that it keeps one stream
    device = ("--device", "emulated:8MiB,link=1gbit", "--offload-k", "2")

    def fact(self, term):
        """The value of a fact of the job's own page."""
        now = self.page.get_by_role("region", name="Now")
        return now.locator("dl.facts > div").filter(
            has=self.page.get_by_role("term").filter(has_text=re.compile(f"^{term}$"))
        ).get_by_role("definition")

    def test_memory_layers_and_lanes_are_shown(self):
        self.open("#/jobs")
        self.page.get_by_role("link", name=WORKLOAD).first.click()
        expect(self.fact("Device memory")).to_have_text(re.compile(r"^[0-9.]+ (KiB|MiB) of 8 MiB$"))
        expect(self.fact("Layers kept")).to_have_text("2 of 4")
        expect(self.fact("In use")).to_have_text(re.compile(
            r"^device [0-9.]+ %; host [0-9.]+ %; copies to the device [0-9.]+ %; "
            r"copies to the host [0-9.]+ %$"))
        values = self.world.job()["values"]
        self.assertEqual(values["device_memory_bytes"], 8 << 20)
        self.assertEqual(values["layers"], 4)
        self.assertLess(values["device_peak_bytes"], 8 << 20)
        # The facts are not said twice.
        expect(self.page.get_by_text("Measured by the job itself")).to_have_count(0)
        self.screenshot("job-placed-light-1280")


class PageWithoutPlacement(PageTest):
    live = True

    def test_another_job_says_nothing_of_it(self):
        self.open("#/jobs")
        self.page.get_by_role("link", name=WORKLOAD).first.click()
        expect(self.page.get_by_role("heading", name=WORKLOAD, level=1)).to_be_visible()
        expect(self.page.get_by_text("Device memory")).to_be_hidden()
        expect(self.page.get_by_text("Layers kept")).to_be_hidden()


if __name__ == "__main__":
    main()
