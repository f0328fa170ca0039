"""Names and texts of others that try to be markup, to turn the page around, or to burst it."""

from playwright.sync_api import expect

import page_accessibility as accessibility
import page_hostile as hostile
from page_browser import NARROW, WIDE, PageTest, main
from page_world import segment

# Elements that only markup in the texts would have made.
MARKUP = "() => [...document.querySelectorAll('img[src=x], [onerror]')].length"


class PageHostile(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        hostile.add_study(cls.world)
        cls.key = hostile.add_job(cls.world)
        cls.profile = hostile.add_profile(cls.world)
        cls.world.send("PUT", f"/v1/configs/{segment(cls.key)}/freeze", {"frozen": True})

    def addresses(self):
        return {
            "jobs": "#/jobs", "job": "#/jobs/hostile-1", "configs": "#/configs",
            "config": f"#/configs/{self.key}", "audit": "#/configs/audit", "studies": "#/studies",
            "study": f"#/studies/{hostile.STUDY}?trial=4",
            "parallel": f"#/studies/{hostile.STUDY}?tab=parallel",
            "contour": f"#/studies/{hostile.STUDY}?tab=contour",
            "slices": f"#/studies/{hostile.STUDY}?tab=slices",
            "importance": f"#/studies/{hostile.STUDY}?tab=importance",
            "why": f"#/studies/{hostile.STUDY}?tab=why",
            "profiles": "#/profiles", "profile": f"#/profiles/{self.profile}",
            "diff": f"#/profiles/{self.profile}/diff/{self.profile}",
            "timelines": "#/timeline", "timeline": f"#/timeline/{self.profile}",
            "simulate": f"#/simulate?profile={self.profile}",
            "markup in the address": "#/studies/%3Cimg%20src=x%20onerror=alert(1)%3E",
            "a long address": "#/profiles/" + "W" * 4000,
        }

    def look(self, viewport):
        self.watch.allow("40[0-9]")
        self.page.set_viewport_size(viewport)
        for name, fragment in self.addresses().items():
            with self.subTest(name, width=viewport["width"]):
                self.open(fragment)
                self.assertIsNone(self.page.evaluate("() => window.hocketRan ?? null"))
                self.assertEqual(self.page.evaluate(MARKUP), 0)
                self.screenshot(f"hostile-{name}-light-{viewport['width']}")
                self.assertLessEqual(accessibility.overflow(self.page), 0,
                                     accessibility.sticking_out(self.page))

    def test_nothing_runs_and_nothing_bursts_the_window(self):
        self.look(WIDE)

    def test_nothing_bursts_a_narrow_window(self):
        self.look(NARROW)

    def test_the_texts_are_shown_as_they_are(self):
        self.open("#/jobs")
        expect(self.page.get_by_role("link", name="<script>").first).to_be_visible()
        # The direction of the text around a name is its own.
        direction = self.page.evaluate("""() => {
          const name = document.querySelector("main li a").firstElementChild;
          return [getComputedStyle(name).unicodeBidi, getComputedStyle(document.body).direction];
        }""")
        self.assertRegex(direction[0], "isolate")
        self.assertEqual(direction[1], "ltr")
        shown = self.page.get_by_role("main").inner_text()
        for turned in "\u202a\u202b\u202d\u202e\u2066\u2067":
            self.assertNotIn(turned, shown)

    def test_a_long_text_is_shown_when_asked(self):
        self.open(f"#/configs/{self.key}")
        more = self.page.get_by_role("button", name="show all").first
        more.click()
        expect(self.page.get_by_role("button", name="show less").first).to_be_visible()
        self.assertLessEqual(accessibility.overflow(self.page), 0)

    def test_the_page_stays_usable(self):
        self.open("#/jobs/hostile-1")
        self.page.get_by_role("button", name="Unfreeze…").click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog.get_by_role("heading", name="What will happen")).to_be_visible()
        button = dialog.get_by_role("button", name="Unfreeze", exact=True)
        expect(button).to_be_in_viewport()
        box = dialog.bounding_box()
        self.assertLessEqual(box["x"] + box["width"], WIDE["width"])
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)


if __name__ == "__main__":
    main()
