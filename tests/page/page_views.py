"""All views with data of everything, for tests that look at each of them in the same way."""

from playwright.sync_api import expect

import page_accessibility as accessibility
from page_browser import PageTest
from page_world import segment

TIMELINE_DRAWN = "() => [...document.querySelectorAll('hk-timeline')].every((each) => " \
                 "each.stats().isComplete && each.stats().boxes > 0)"
TABS = ("convergence", "slices", "contour", "parallel", "importance", "predicted", "why")


def addresses(world, profile_names):
    """The address of each view by a name for its pictures."""
    first, second = profile_names
    job = world.job()
    return {
        "jobs": "#/jobs",
        "job": f"#/jobs/{job['job']}",
        "configs": "#/configs",
        "config": f"#/configs/{job['key']}",
        "audit": "#/configs/audit",
        "studies": "#/studies",
        "study": "#/studies/shaped?trial=3",
        **{f"study-{tab}": f"#/studies/shaped?tab={tab}" for tab in TABS},
        "study-front": "#/studies/two-sided?tab=front",
        "profiles": "#/profiles",
        "profile": f"#/profiles/{first}",
        "profile-diff": f"#/profiles/{first}/diff/{second}",
        "timelines": "#/timeline",
        "timeline": f"#/timeline/{first}",
        "timeline-beside": f"#/timeline/{first}?beside={second}",
        "simulate": f"#/simulate?profile={first}",
    }


class ViewsTest(PageTest):
    studies = profiles = live = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        job = cls.world.job()
        for credit in (4 << 20, 8 << 20):
            cls.world.send("PUT", f"/v1/configs/{segment(job['key'])}", {
                "config": job["config"] | {"credit_bytes": credit}, "note": "for the page"})

    def each_view(self, check):
        """Opens each view in turn, in one page, and calls `check` with its name."""
        for name, fragment in addresses(self.world, self.profile_names).items():
            with self.subTest(name):
                self.open(fragment)
                if name in ("timeline", "timeline-beside"):
                    self.until(TIMELINE_DRAWN)
                    # The figures of what is visible come last.
                    expect(self.page.get_by_role("table", name="Time by rank")).to_have_count(
                        self.page.get_by_role("application").count())
                if "tab=" in fragment and not fragment.endswith("why"):
                    expect(self.page.locator("hk-plot").get_by_role("img")).to_be_visible()
                check(name)

    def look(self, scheme, width):
        """Checks what can be checked of each view, and takes its picture."""
        def check(name):
            self.screenshot(f"{name}-{scheme}-{width}")
            over = accessibility.overflow(self.page)
            problems = {
                "structure": accessibility.structure(self.page),
                "names": accessibility.unnamed(self.page),
                "contrast": accessibility.contrast(self.page),
                "pixels beyond the window": [over, *accessibility.sticking_out(self.page)]
                if over > 0 else [],
            }
            self.assertEqual({what: found for what, found in problems.items() if found}, {})
        self.each_view(check)
