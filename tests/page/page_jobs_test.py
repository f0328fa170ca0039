"""The jobs, with one that trains while it is looked at and is tuned by the daemon."""

from playwright.sync_api import expect

from page_browser import PageTest, main
from page_world import WORKLOAD, segment

CREDIT = "credit_bytes"


class PageJobs(PageTest):
    live = True
    explore = "30%"  # so that verdicts fall often

    def card(self):
        return self.page.get_by_role("listitem").filter(
            has=self.page.get_by_role("heading", name=WORKLOAD))

    def open_job(self, role="admin"):
        self.open("#/jobs", role)
        self.page.get_by_role("link", name=WORKLOAD).first.click()
        expect(self.page.get_by_role("heading", name=WORKLOAD, level=1)).to_be_visible()

    def act(self, button):
        self.page.get_by_role("group", name="Actions").get_by_role("button", name=button).click()
        return self.page.get_by_role("dialog")

    def confirm(self, dialog, button):
        """What will happen is said before the button can be pressed."""
        expect(dialog.get_by_role("heading", name="What will happen")).to_be_visible()
        said = dialog.get_by_role("listitem").all_inner_texts()
        self.assertTrue(said and all(said), said)
        dialog.get_by_role("button", name=button, exact=True).click()
        expect(dialog).to_have_count(0)
        return " ".join(said)

    def key(self):
        return f"/v1/configs/{segment(self.world.job()['key'])}"

    def push(self, value):
        """Pushes a credit window from the job's page; returns the version."""
        dialog = self.act("Push…")
        dialog.get_by_label(CREDIT, exact=True).fill(value)
        dialog.get_by_label("Why", exact=True).fill(f"{value} of credit")
        expect(dialog.get_by_role("table", name="What changes")).to_contain_text(value)
        self.confirm(dialog, "Push")
        expect(self.page.get_by_role("status").filter(has_text="version")).to_be_visible()
        # Live tuning may have released another version meanwhile.
        versions = self.world.get(self.key() + "/versions")["versions"]
        pushed = [version for version in versions if version["note"] == f"{value} of credit"]
        self.assertTrue(pushed, versions)
        return pushed[-1]

    def test_the_list_shows_the_job_and_its_iterations_move(self):
        self.open("#/jobs")
        expect(self.card()).to_contain_text("2 ranks")
        strip = self.card().get_by_role("img", name="iterations: median")
        expect(strip).to_be_visible()
        step = self.card().get_by_role("definition").first
        before = step.inner_text()
        expect(step).not_to_have_text(before)
        drawn = strip.get_attribute("aria-label")
        self.until("""before => [...document.querySelectorAll("main [role=img]")].some((image) =>
            image.ariaLabel.includes("iterations") && image.ariaLabel !== before)""", drawn)
        self.screenshot("jobs-light-1280")

    def test_what_is_tried_and_its_verdicts_appear(self):
        self.open_job()
        newest = self.page.get_by_role("main").locator("section").filter(
            has=self.page.get_by_role("heading", name="Verdicts")).get_by_role("listitem").first
        expect(newest).to_contain_text("trial")
        expect(self.page.get_by_role("table", name="Difference")).to_be_visible()
        expect(self.page.get_by_role("meter", name="Exploration budget used")).to_be_visible()
        self.screenshot("job-verdicts-light-1280")
        trial = newest.inner_text().partition("\n")[0]
        expect(newest).not_to_contain_text(trial)

    def test_a_push_reaches_the_job(self):
        self.open_job()
        version = self.push("12 MiB")
        self.assertEqual(version["config"][CREDIT], 12 << 20)

        def answered():
            job = self.world.job()
            return job["config"][CREDIT] == 12 << 20 or any(
                change.get("version") == version["version"] for change in job["changes"])
        self.world.wait_for(answered, "the job's answer to the push")
        expect(self.page.get_by_text(f"version {version['version']}").first).to_be_visible()

    def test_a_pinned_version_is_taken_at_once_and_left_by_a_rollback(self):
        self.open_job()
        version = self.push("6 MiB")["version"]
        self.page.get_by_role("link", name=".").filter(has_text="…").or_(
            self.page.get_by_role("paragraph").filter(has_text="key ").get_by_role("link")
        ).first.click()
        expect(self.page.get_by_role("table", name="Versions")).to_be_visible()
        self.page.get_by_role("button", name=f"Pin version {version}", exact=True).click()
        self.confirm(self.page.get_by_role("dialog"), "Pin")
        self.world.wait_for(lambda: self.world.job()["config"][CREDIT] == 6 << 20,
                            "the job to take the pinned version")
        expect(self.page.get_by_text("pinned", exact=True).first).to_be_visible()
        self.confirm(self.act("Unpin…"), "Unpin")
        self.world.wait_for(lambda: not self.config()["pinned"], "the key to be unpinned")
        dialog = self.act("Roll back…")
        dialog.get_by_label("Back to").select_option("default")
        dialog.get_by_label("Why", exact=True).fill("not needed any more")
        self.confirm(dialog, "Roll back")
        self.world.wait_for(lambda: self.world.job()["config"][CREDIT] != 6 << 20,
                            "the job to leave the version")
        expect(self.page.get_by_role("table", name="Audit of this key")).to_contain_text(
            "not needed any more")

    def config(self):
        key = self.world.job()["key"]
        return next(one for one in self.world.get("/v1/configs")["configs"] if one["key"] == key)

    def test_a_key_can_be_frozen_and_unfrozen(self):
        self.open_job()
        self.confirm(self.act("Freeze…"), "Freeze")
        self.world.wait_for(lambda: self.config()["frozen"], "the key to be frozen")
        self.confirm(self.act("Unfreeze…"), "Unfreeze")
        self.world.wait_for(lambda: not self.config()["frozen"], "the key to be unfrozen")

    def test_a_profile_can_be_requested(self):
        self.open_job()
        dialog = self.act("Profile…")
        dialog.get_by_label("Iterations").fill("6")
        dialog.get_by_role("button", name="Request").click()
        expect(self.page.get_by_role("status").filter(has_text="records 6 iterations")
               ).to_be_visible()
        self.page.get_by_role("status").get_by_role("link", name="Profiles").click()
        expect(self.page.get_by_role("link", name=f"{WORKLOAD}-1")).to_be_visible()

    def test_escape_leaves_a_dialog_without_a_change(self):
        self.open_job()
        before = len(self.world.get(self.key() + "/versions")["versions"])
        dialog = self.act("Push…")
        dialog.get_by_label(CREDIT, exact=True).fill("3 MiB")
        self.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(self.page.get_by_role("button", name="Push…")).to_be_focused()
        own = [version for version in self.world.get(self.key() + "/versions")["versions"][before:]
               if version["config"].get(CREDIT) == 3 << 20]
        self.assertEqual(own, [])

    def test_what_a_knob_cannot_be_is_said_before(self):
        self.open_job()
        dialog = self.act("Push…")
        dialog.get_by_label(CREDIT, exact=True).fill("much")
        expect(dialog.get_by_text("expected a size such as 8 MiB")).to_be_visible()
        expect(dialog.get_by_role("button", name="Push", exact=True)).to_be_disabled()

    def test_who_may_only_read_sees_no_actions(self):
        self.open_job("read")
        expect(self.page.get_by_text("Your token may look only")).to_be_visible()
        for name in ("Push…", "Pin…", "Freeze…", "Roll back…", "Profile…"):
            expect(self.page.get_by_role("button", name=name)).to_have_count(0)
        self.page.goto(f"{self.world.address}/#/configs/{self.world.job()['key']}")
        expect(self.page.get_by_text("Your token may look only")).to_be_visible()


if __name__ == "__main__":
    main()
