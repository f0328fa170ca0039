"""Each view at 400 pixels, light and dark: the page is never wider than the window."""

from playwright.sync_api import expect

import page_accessibility as accessibility
from page_browser import NARROW, main
from page_views import ViewsTest


class PageNarrowLight(ViewsTest):
    viewport = NARROW

    def test_each_view(self):
        self.look("light", 400)

    def test_a_dialog_fits_and_its_buttons_are_in_reach(self):
        self.open(f"#/jobs/{self.world.job()['job']}")
        self.page.get_by_role("button", name="Push…").click()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_label("credit_bytes", exact=True).fill("2 MiB")
        # The preview grows above the buttons until it shows the change.
        expect(dialog.get_by_role("table", name="What changes")).to_contain_text("2 MiB")
        self.screenshot("push-light-400")
        self.assertLessEqual(accessibility.overflow(self.page), 0)
        push = dialog.get_by_role("button", name="Push", exact=True)
        push.scroll_into_view_if_needed()
        expect(push).to_be_in_viewport()
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)

    def test_the_token_is_asked_for(self):
        self.watch.allow("401")
        self.open("", role=None)
        expect(self.page.get_by_label("Token")).to_be_visible()
        self.screenshot("token-light-400")
        self.assertLessEqual(accessibility.overflow(self.page), 0)


class PageNarrowDark(ViewsTest):
    viewport = NARROW
    color_scheme = "dark"

    def test_each_view(self):
        self.look("dark", 400)


if __name__ == "__main__":
    main()
