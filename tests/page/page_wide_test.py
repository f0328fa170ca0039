"""Each view at 1,280 pixels, light and dark: roles, names, headings, contrast, and the keyboard."""

from playwright.sync_api import expect

import page_accessibility as accessibility
from page_browser import main
from page_views import ViewsTest


class PageWideLight(ViewsTest):
    def test_each_view(self):
        self.look("light", 1280)

    def test_the_keyboard_alone_reaches_everything(self):
        self.each_view(lambda _: self.assertEqual(accessibility.keyboard(self.page), []))

    def test_a_dialog_keeps_the_focus_and_gives_it_back(self):
        self.open(f"#/jobs/{self.world.job()['job']}")
        button = self.page.get_by_role("button", name="Push…")
        button.focus()
        self.page.keyboard.press("Enter")
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_have_accessible_name("Push a configuration to gpt2-2x64-s16-b2")
        expect(dialog.get_by_role("heading", name="What will happen").or_(
            dialog.get_by_text("Nothing is changed yet"))).to_be_visible()
        self.screenshot("push-light-1280")
        self.assertEqual(accessibility.unnamed(self.page), [])
        self.assertEqual(accessibility.contrast(self.page), [])
        self.assertEqual(accessibility.keyboard(self.page), [])
        self.page.keyboard.press("Escape")
        expect(button).to_be_focused()

    def test_the_skip_link_leads_to_the_content(self):
        self.open("#/studies")
        self.page.keyboard.press("Tab")
        skip = self.page.get_by_role("link", name="Skip to the content")
        expect(skip).to_be_focused()
        expect(skip).to_be_in_viewport()
        self.page.keyboard.press("Enter")
        expect(self.page.get_by_role("main")).to_be_focused()
        expect(self.page.get_by_role("heading", level=1)).to_have_text("Studies")

    def test_movement_is_left_out_where_it_is_not_wanted(self):
        self.page.emulate_media(reduced_motion="reduce")
        self.open("#/jobs")
        moving = self.page.evaluate("""() => document.getAnimations().filter((each) =>
          each.playState === "running" && each.effect.getTiming().duration > 10).length""")
        self.assertEqual(moving, 0)


class PageWideDark(ViewsTest):
    color_scheme = "dark"

    def test_each_view(self):
        self.look("dark", 1280)
        back = self.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        self.assertRegex(back, r"rgb\((\d\d?), (\d\d?), (\d\d?)\)")


if __name__ == "__main__":
    main()
