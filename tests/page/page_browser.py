"""Chromium for the tests of the page, and what every test of it expects: no error on the console,
no exception, no dialog, and no request to another host than the daemon.
"""

import os
import pathlib
import re
import unittest
import urllib.parse

from playwright.sync_api import expect, sync_playwright

from page_world import BUILD, PATIENCE_S, World, chromium

SCREENSHOTS = pathlib.Path(os.environ.get("HOCKET_PAGE_SCREENSHOTS", BUILD / "page-screenshots"))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--no-first-run"]
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 400, "height": 800}

expect.set_options(timeout=PATIENCE_S * 1000)


def launch(playwright, *arguments):
    """Starts the browser, with a new folder for the user's data that it removes at its end."""
    return playwright.chromium.launch(executable_path=chromium(), args=[*ARGUMENTS, *arguments])


class Watch:
    """What went wrong in a context of the browser, and where its requests went."""

    def __init__(self, context, address):
        self.wrong = []
        self.requests = []
        self._address = address
        self._allowed = []
        self._stand_ins = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self.wrong.append(f"exception: {error.error}"))
        context.on("dialog", self._dialog)
        context.on("request", self._request)

    def allow(self, pattern):
        """Lets messages on the console pass that match, such as that of a refused request."""
        self._allowed.append(re.compile(pattern))

    def allow_host(self, address):
        """For an address that the test answers itself."""
        self._stand_ins.append(address)

    def _console(self, message):
        text = f"{message.text} ({message.location.get('url', '')})"
        if message.type == "error" and not any(pattern.search(text) for pattern in self._allowed):
            self.wrong.append(text)

    def _dialog(self, dialog):
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        self.requests.append(request.url)
        parts = urllib.parse.urlsplit(request.url)
        if parts.scheme in ("data", "blob"):
            return
        own = f"{parts.scheme}://{parts.netloc}"
        if own not in (self._address, *self._stand_ins):
            self.wrong.append(f"request to another host: {request.url}")


class PageTest(unittest.TestCase):
    """A test with a world and a browser, which all tests of a class share, and a page of its own.

    A class says by `studies`, `profiles` and `live` what its world has; a job needs the daemon.
    """

    studies = profiles = live = False
    daemon = True
    explore = "5%"
    device = ()  # options of the job
    viewport = WIDE
    color_scheme = "light"

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        if cls.studies:
            cls.world.add_studies()
        cls.profile_names = cls.world.add_profiles() if cls.profiles else []
        if cls.daemon:
            cls.world.serve()
        if cls.live:
            cls.world.start_job(cls.explore, cls.device)
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = launch(playwright)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.context = self.new_context()
        self.page = self.context.new_page()

    def new_context(self, **options):
        """A user of the browser without any data."""
        options = {"viewport": self.viewport, "color_scheme": self.color_scheme,
                   "locale": "en-GB", "timezone_id": "Europe/Berlin"} | options
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE_S * 1000)
        self.watch = Watch(context, self.world.address)
        self.addCleanup(self._close, context, self.watch)
        return context

    def _close(self, context, watch):
        if self._has_failed():
            for number, page in enumerate(context.pages):
                self.screenshot(f"failed-{self.id().partition('.')[2]}-{number}", page)
        context.close()
        self.assertEqual(watch.wrong, [], "what the browser complained of")

    def _has_failed(self):
        return self._outcome is not None and not self._outcome.success

    def become(self, role, context=None):
        """Gives the page a role's token, as if it had been entered in this window."""
        token = self.world.tokens[role]
        (context or self.context).add_init_script(
            f'if (window === window.top && location.protocol.startsWith("http") &&'
            f' !sessionStorage.getItem("hocket.token"))'
            f' sessionStorage.setItem("hocket.token", "{token}");')

    def open(self, fragment="", role="admin", page=None):
        """Opens a view of the page, and returns when its heading is there."""
        page = page or self.page
        if role:
            self.become(role, page.context)
        page.goto(f"{self.world.address}/{fragment}")
        self.settled(page)
        return page

    def settled(self, page=None):
        """Waits until the view has its heading, or says that it has none, and loads nothing."""
        view = (page or self.page).get_by_role("main")
        expect(view.get_by_role("heading").or_(view.get_by_role("alert")).first).to_be_visible()
        expect(view.get_by_text(re.compile(r"^(Loading|Drawing|Running the search again)")
                                ).filter(visible=True)).to_have_count(0)

    def screenshot(self, name, page=None):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (page or self.page).screenshot(path=SCREENSHOTS / f"{name}.png")

    def until(self, script, argument=None, page=None):
        """Waits until the JavaScript function returns something true, and returns it."""
        return (page or self.page).wait_for_function(script, arg=argument).json_value()


def main():
    unittest.main(module="__main__", verbosity=2)
