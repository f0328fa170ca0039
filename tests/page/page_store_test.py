"""The page of `hocket web`, which shows a store without a daemon, and of `hocket serve --open`."""

import urllib.parse

from playwright.sync_api import expect

import page_accessibility as accessibility
from page_browser import PageTest, main


class PageStore(PageTest):
    studies = profiles = True
    daemon = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = cls.world.web()

    def setUp(self):
        super().setUp()
        self.page.goto(self.address)
        expect(self.page.get_by_text("This is a store without a daemon")).to_be_visible()

    def view(self, fragment):
        self.page.goto(f"{self.world.address}/{fragment}")
        self.settled()

    def test_its_address_opens_it_and_the_token_leaves_the_address(self):
        token = urllib.parse.urlsplit(self.address).fragment.partition("token=")[2]
        self.assertTrue(token)
        self.assertNotIn(token, self.page.url)
        expect(self.page.get_by_text("a store, read only")).to_be_visible()
        self.screenshot("store-jobs-light-1280")
        self.assertEqual(accessibility.structure(self.page), [])
        self.assertEqual(accessibility.contrast(self.page), [])

    def test_what_is_stored_is_shown(self):
        self.view("#/studies/shaped?tab=slices")
        expect(self.page.locator("hk-plot").get_by_role("img")).to_be_visible()
        first, second = self.profile_names
        self.view(f"#/profiles/{first}/diff/{second}")
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        self.view(f"#/timeline/{first}")
        expect(self.page.get_by_role("application")).to_be_visible()
        self.view(f"#/simulate?profile={first}")
        expect(self.page.get_by_role("region", name="Prediction")).to_contain_text("Predicted")

    def test_nothing_can_be_changed(self):
        self.view("#/configs")
        self.page.get_by_role("table", name="Keys").get_by_role("link").first.click()
        expect(self.page.get_by_text("This page shows a store without a daemon")).to_be_visible()
        for name in ("Push…", "Pin…", "Freeze…", "Roll back…"):
            expect(self.page.get_by_role("button", name=name)).to_have_count(0)

    def test_a_study_that_goes_on_is_followed(self):
        self.view("#/studies")
        table = self.page.get_by_role("table", name="Studies of the store")
        before = table.get_by_role("row").count()
        self.world.hocket("tune", "--study", "later", "--param", "X=int:1..3", "--objective",
                          "wall", "--trials", "2", "--confirm", "0", "--", "true", statuses=(0, 3))
        expect(table.get_by_role("row")).to_have_count(before + 1)


class PageOpen(PageTest):
    daemon = False

    def test_the_address_that_the_daemon_prints_opens_the_page(self):
        address = self.world.serve_and_open()
        self.addCleanup(self.world.end_daemon)
        token = urllib.parse.urlsplit(address).fragment.partition("token=")[2]
        self.assertGreater(len(token), 30)
        page = self.new_context().new_page()
        page.goto(address)
        expect(page.get_by_text("No job is running")).to_be_visible()
        expect(page.get_by_text("(admin)")).to_be_visible()
        self.assertNotIn(token, page.url)


if __name__ == "__main__":
    main()
