"""The shell: tokens, addresses, history, what is stale, and a page of another version."""

import re

from playwright.sync_api import expect

from page_browser import PageTest, main

VIEWS = {"Jobs": "#/jobs", "Configurations": "#/configs", "Studies": "#/studies",
         "Profiles": "#/profiles", "Timeline": "#/timeline", "Simulate": "#/simulate"}
REFUSED = r"401"


class PageShell(PageTest):
    studies = profiles = True

    def kept_token(self):
        return self.page.evaluate("() => sessionStorage.getItem('hocket.token')")

    def heading(self):
        return self.page.get_by_role("main").get_by_role("heading", level=1)

    def enter(self, token):
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Continue").click()

    def test_a_token_is_asked_for_once_in_a_tab(self):
        self.watch.allow(REFUSED)
        self.open("", role=None)
        self.screenshot("token-light-1280")
        expect(self.page.get_by_label("Token")).to_be_focused()
        self.enter("not-a-token-of-this-daemon")
        expect(self.page.get_by_role("alert")).to_contain_text("does not know this token")
        self.assertTrue(self.page.get_by_label("Token").is_visible())
        self.enter(self.world.tokens["read"])
        expect(self.heading()).to_have_text("Jobs")
        self.page.reload()
        expect(self.heading()).to_have_text("Jobs")
        self.assertEqual(self.kept_token(), self.world.tokens["read"])
        self.assertEqual(self.context.cookies(), [])
        self.assertEqual(self.page.evaluate("() => localStorage.length"), 0)
        # Another tab has its own.
        other = self.context.new_page()
        other.goto(self.world.address)
        expect(other.get_by_label("Token")).to_be_visible()

    def test_a_token_is_forgotten_when_asked(self):
        self.watch.allow(REFUSED)
        self.open("", role=None)
        self.enter(self.world.tokens["admin"])
        self.page.get_by_role("button", name="forget token").click()
        expect(self.page.get_by_label("Token")).to_be_visible()
        self.assertIsNone(self.kept_token())

    def test_a_token_in_the_address_is_kept_and_taken_out_of_it(self):
        token = self.world.tokens["admin"]
        self.open(f"#token={token}", role=None)
        expect(self.heading()).to_have_text("Jobs")
        self.assertEqual(self.kept_token(), token)
        self.assertNotIn(token, self.page.url)
        self.page.get_by_role("link", name="Studies").click()
        expect(self.heading()).to_have_text("Studies")
        self.page.go_back()
        expect(self.heading()).to_have_text("Jobs")
        self.assertNotIn(token, self.page.url)
        # It is in no request's address either.
        self.assertEqual([url for url in self.watch.requests if token in url.partition("#")[0]],
                         [])

    def test_each_view_has_an_address_and_history_works(self):
        self.open()
        for name, fragment in VIEWS.items():
            self.page.get_by_role("navigation", name="Views").get_by_role("link", name=name).click()
            self.page.wait_for_url(re.compile(re.escape(fragment)))
            self.settled()
            expect(self.page.get_by_role("link", name=name, exact=True)).to_have_attribute(
                "aria-current", "page")
        self.assertNotEqual(self.page.title(), "")
        for name, fragment in list(VIEWS.items())[-2::-1]:
            self.page.go_back()
            self.page.wait_for_url(re.compile(re.escape(fragment)))
            expect(self.page.get_by_role("link", name=name, exact=True)).to_have_attribute(
                "aria-current", "page")
        self.page.go_forward()
        self.page.wait_for_url(re.compile("#/configs"))
        expect(self.heading()).to_have_text("Configurations")

    def test_a_shared_address_opens_the_same_view(self):
        self.open("#/studies")
        self.page.get_by_role("link", name="shaped").click()
        self.page.get_by_role("link", name="Contour").click()
        self.page.wait_for_url(re.compile(r"studies/shaped\?.*tab=contour"))
        self.settled()
        title, address = self.page.title(), self.page.url
        other = self.new_context().new_page()
        self.become("read", other.context)
        other.goto(address)
        self.settled(other)
        expect(other).to_have_title(title)
        expect(other.get_by_role("link", name="Contour")).to_have_attribute("aria-current", "page")

    def test_an_address_without_a_view_says_so(self):
        self.open("#/nothing")
        expect(self.heading()).to_have_text("No such page")
        self.page.get_by_role("link", name="Go to the jobs").click()
        expect(self.heading()).to_have_text("Jobs")

    def test_what_is_not_there_is_an_error_that_says_what_to_do(self):
        self.watch.allow(r"40[04]")
        for fragment in ("#/studies/none", "#/profiles/none", "#/timeline/none",
                         "#/configs/none.none", "#/jobs/none"):
            with self.subTest(fragment=fragment):
                self.open(fragment)
                main_part = self.page.get_by_role("main")
                expect(main_part.get_by_role("heading", level=1)).to_be_visible()
                expect(main_part.get_by_role("alert").or_(main_part.get_by_role("status")).first
                       ).to_be_visible()

    def test_an_address_of_the_page_answers_with_its_type_and_compressed(self):
        types = {}
        self.context.on("response", lambda response: types.update(
            {response.url: (response.headers, response.status)}))
        self.open("#/jobs")
        own = {url: found for url, found in types.items() if "/page/" in url}
        self.assertTrue(own)
        for url, (headers, status) in own.items():
            self.assertEqual(status, 200, url)
            self.assertEqual(headers["content-encoding"], "gzip", url)
            self.assertRegex(headers["content-type"],
                             "text/javascript" if url.endswith(".js") else "text/css", url)
            self.assertEqual(headers["x-content-type-options"], "nosniff", url)

    def test_the_policy_allows_nothing_inline_and_no_other_host(self):
        # Without a token the page is told so, sooner or later.
        self.watch.allow("401")
        answer = self.page.goto(self.world.address)
        policy = dict(part.strip().partition(" ")[::2]
                      for part in answer.headers["content-security-policy"].split(";"))
        for name, value in {"default-src": "'none'", "script-src": "'self'",
                            "style-src": "'self'", "connect-src": "'self'",
                            "form-action": "'none'", "frame-ancestors": "'none'",
                            "base-uri": "'none'", "require-trusted-types-for": "'script'"}.items():
            self.assertEqual(policy[name], value)
        self.assertLessEqual(set(policy["img-src"].split()), {"'self'", "data:", "blob:"})
        self.assertNotIn("unsafe", " ".join(policy.values()))
        self.assertNotIn("set-cookie", answer.headers)
        # The browser keeps to it.
        self.watch.allow("Content Security Policy|Trusted")
        self.assertFalse(self.page.evaluate("""() => {
          const script = document.createElement("script");
          let refused = false;
          try {
            script.textContent = "window.hocketRan = true";
          } catch {
            refused = true;
          }
          document.head.append(script);
          return Boolean(window.hocketRan) || !refused;
        }"""))


class PageStale(PageTest):
    live = True

    def test_it_says_when_the_daemon_is_away_and_goes_on_when_it_is_back(self):
        self.watch.allow("ERR_|Failed to load resource")
        self.open("#/jobs")
        banner = self.page.get_by_role("status").filter(has_text="has not answered")
        expect(self.page.get_by_text("live", exact=True)).to_be_visible()
        expect(banner).to_have_count(0)
        self.world.end_daemon()
        expect(banner).to_be_visible()
        self.screenshot("stale-light-1280")
        self.world.serve()
        expect(banner).to_have_count(0)
        expect(self.page.get_by_text("live", exact=True)).to_be_visible()
        # The job registers again, and its steps go on.
        self.world.wait_for(self.world.jobs, "the job to come back")
        expect(self.page.get_by_role("link", name="gpt2-2x64-s16-b2").first).to_be_visible()

    def test_a_page_of_another_version_loads_itself_again_once(self):
        loads = []
        self.page.on("domcontentloaded", lambda page: loads.append(page.url))
        self.page.route("**/v1/changes", lambda route: route.fulfill(
            content_type="text/event-stream",
            body='event: changes\ndata: {"page":"another","jobs":1,"store":1}\n\n'))
        self.open("#/jobs")
        self.until("() => sessionStorage.getItem('hocket.reloaded') === 'another'")
        expect(self.page.get_by_role("heading", level=1)).to_have_text("Jobs")
        with self.page.expect_response("**/v1/changes"):
            pass  # it has been told again, and stays
        self.assertEqual(len(loads), 2)
        self.assertRegex(self.page.url, "#/jobs$")


if __name__ == "__main__":
    main()
