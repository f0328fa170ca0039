"""The profiles of two ranks: the list, one of them, and the difference of two."""

import json
import re

from playwright.sync_api import expect

from page_browser import PageTest, main

PERFETTO = "https://ui.perfetto.dev"
# Answers as Perfetto does (its documentation, "Deep linking"), and keeps what it is given.
STAND_IN = """<!doctype html><title>a stand-in for Perfetto</title><script>
  window.addEventListener("message", (event) => {
    if (event.data === "PING") return event.source.postMessage("PONG", event.origin);
    const { buffer, title } = event.data.perfetto;
    window.received = { bytes: buffer.byteLength, title, origin: event.origin };
  });
</script>"""


class PageProfiles(PageTest):
    profiles = True

    def table(self):
        return self.page.get_by_role("table", name="Profiles of the store")

    def test_the_list_is_filtered_and_the_address_says_how(self):
        first, second = self.profile_names
        self.open("#/profiles")
        expect(self.table().get_by_role("row")).to_have_count(3)
        self.screenshot("profiles-light-1280")
        self.page.get_by_label("Text").fill("order=negotiated")
        expect(self.table().get_by_role("row")).to_have_count(2)
        expect(self.table()).to_contain_text(second)
        expect(self.page).to_have_url(re.compile("text="))
        self.page.get_by_label("Text").fill("no profile has this")
        expect(self.page.get_by_text("No profile matches")).to_be_visible()
        self.page.get_by_role("button", name="Show all profiles").click()
        expect(self.table().get_by_role("row")).to_have_count(3)
        self.table().get_by_role("link", name=first).click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(first)

    def test_one_shows_its_figures(self):
        name = self.profile_names[0]
        answer = self.world.get(f"/v1/profiles/{name}")
        self.open(f"#/profiles/{name}")
        main_part = self.page.get_by_role("main")
        expect(main_part).to_contain_text("gpt2-2x64-s16-b2")
        # The chart of the iterations has one mark each.
        expect(self.page.get_by_role("img").first).to_be_visible()
        figures = self.page.get_by_role("table").filter(has_text="rank 1")
        expect(figures.first).to_be_visible()
        self.assertEqual(len(answer["summary"]["ranks"]), 2)
        share = answer["summary"]["exposed_share"]
        expect(main_part).to_contain_text(f"{100 * share:.1f} %")
        self.screenshot("profile-light-1280")

    def test_two_are_compared_by_layer(self):
        first, second = self.profile_names
        self.open("#/profiles")
        self.page.get_by_role("checkbox", name=f"Compare {first}").check()
        self.page.get_by_role("checkbox", name=f"Compare {second}").check()
        self.page.get_by_role("region", name="Comparison").get_by_role(
            "link", name="Compare").click()
        expect(self.page).to_have_url(re.compile(f"{first}/diff/{second}"))
        self.settled()
        layers = {layer["layer"] for layer in
                  self.world.get(f"/v1/profiles/{first}/diff/{second}")["layers"]}
        self.assertTrue(layers)
        for layer in sorted(layers)[:3]:
            expect(self.page.get_by_role("main")).to_contain_text(layer)
        expect(self.page.get_by_role("main")).to_contain_text("order")
        self.screenshot("profile-diff-light-1280")

    def test_a_trace_is_downloaded_with_the_token(self):
        name = self.profile_names[0]
        self.open(f"#/profiles/{name}")
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Download for Chrome").click()
        path = download.value.path()
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertGreater(len(events), 100)
        self.assertIn(name, download.value.suggested_filename)

    def test_a_trace_is_handed_to_perfetto_after_asking(self):
        name = self.profile_names[0]
        self.watch.allow_host(PERFETTO)
        self.context.route(f"{PERFETTO}/**", lambda route: route.fulfill(
            content_type="text/html", body=STAND_IN))
        self.open(f"#/profiles/{name}")
        self.page.get_by_role("button", name="Open in Perfetto").click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_contain_text("another site")
        self.assertFalse([url for url in self.watch.requests if url.startswith(PERFETTO)])
        expect(dialog).to_contain_text("The trace is ready")
        with self.page.expect_popup() as opened:
            dialog.get_by_role("button", name="Open ui.perfetto.dev").click()
        received = opened.value.wait_for_function("() => window.received").json_value()
        self.assertEqual(received["origin"], self.world.address)
        self.assertIn(name, received["title"])
        self.assertGreater(received["bytes"], 1000)
        expect(self.page.get_by_role("status").filter(has_text="is in the Perfetto window")
               ).to_be_visible()


if __name__ == "__main__":
    main()
