"""Each view of an empty store says what to do, and each view says so when the daemon fails."""

import re

from playwright.sync_api import expect

import page_accessibility as accessibility
from page_browser import PageTest, main

EMPTY = {"#/jobs": "No job is running", "#/configs": "No key has a configuration yet",
         "#/studies": "There is no study yet", "#/profiles": "There is no profile yet",
         "#/timeline": "There is no profile yet", "#/simulate": "profile"}


class PageEmpty(PageTest):
    def test_it_says_what_there_is_not_and_what_to_do(self):
        for fragment, text in EMPTY.items():
            with self.subTest(fragment):
                self.open(fragment)
                expect(self.page.get_by_role("main")).to_contain_text(text)
                expect(self.page.get_by_role("main").get_by_text(re.compile("hocket ")).first
                       ).to_be_visible()
                self.screenshot(f"empty-{fragment[2:]}-light-1280")
                self.assertEqual(accessibility.structure(self.page), [])
                self.assertEqual(accessibility.contrast(self.page), [])

    def test_it_says_what_failed_and_tries_again(self):
        self.watch.allow("503")
        # Without the stream of changes nothing but the button loads a view again.
        self.watch.allow("404")
        self.page.route("**/v1/changes", lambda route: route.fulfill(status=404))
        for fragment, path in {"#/jobs": "/v1/jobs", "#/configs": "/v1/configs",
                               "#/studies": "/v1/studies", "#/profiles": "/v1/profiles",
                               "#/timeline": "/v1/profiles"}.items():
            with self.subTest(fragment):
                self.page.route(f"**{path}", lambda route: route.fulfill(
                    status=503, json={"error": {"code": "unavailable",
                                                "message": "the store is locked"}}))
                self.open(fragment)
                alert = self.page.get_by_role("main").get_by_role("alert")
                expect(alert).to_contain_text("the store is locked")
                self.assertEqual(accessibility.structure(self.page), [])
                self.page.unroute(f"**{path}")
                alert.get_by_role("button", name="Try again").click()
                expect(self.page.get_by_role("main")).to_contain_text(EMPTY[fragment])


if __name__ == "__main__":
    main()
