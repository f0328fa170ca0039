"""The configurations: keys, versions, differences, the audit."""

import re

from playwright.sync_api import expect

from page_browser import PageTest, main
from page_world import segment


class PageConfigs(PageTest):
    studies = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # A job's key with versions of an operator, beside the one that the study promoted.
        entered = cls.world.send("POST", "/v1/jobs", {
            "id": "configured-1", "name": "configured",
            "topology": {"cpu_model": "a processor", "sockets": 1, "numa_nodes": 1, "cores": 2,
                         "hardware_threads": 2, "memory_gib": 1, "link": "a link",
                         "world_size": 2, "library_versions": {}},
            "workload": {"name": "configured", "tensors": []},
            "config": {"format": "hocket-schedule", "version": 1}})
        cls.key = entered["key"]
        # Without a running job a version is released when it is pushed.
        cls.world.send("POST", "/v1/reports", {"job": "configured-1", "version": 0, "step": 1,
                                               "iteration_ns": [10**7], "ended": True})
        cls.push({"partition_bytes": 1 << 20}, "smaller parts")
        cls.push({"partition_bytes": 2 << 20}, "larger parts")
        cls.push({"partition_bytes": 2 << 20, "order": "negotiated"}, "ask the ranks")

    @classmethod
    def push(cls, knobs, note):
        cls.world.send("PUT", f"/v1/configs/{segment(cls.key)}", {
            "config": {"format": "hocket-schedule", "version": 1} | knobs, "note": note})

    def versions(self):
        return self.world.get(f"/v1/configs/{segment(self.key)}/versions")["versions"]

    def test_the_list_has_all_keys_and_finds_one(self):
        self.open("#/configs")
        keys = self.page.get_by_role("table", name="Keys")
        expect(keys.get_by_role("row")).to_have_count(3)
        self.screenshot("configs-light-1280")
        self.page.get_by_label("Find").fill("work.sh")
        expect(keys.get_by_role("row")).to_have_count(2)
        expect(self.page).to_have_url(re.compile("find=work.sh"))
        keys.get_by_role("link").first.click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("work.sh")
        # The gain that the study measured, and a link to it.
        expect(self.page.get_by_role("table", name="Versions")).to_contain_text("%")
        self.page.get_by_role("link", name="shaped").first.click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("shaped")

    def test_a_key_shows_its_versions_and_who_made_them(self):
        self.open(f"#/configs/{self.key}")
        table = self.page.get_by_role("table", name="Versions")
        expect(table.get_by_role("row")).to_have_count(len(self.versions()) + 1)
        for text in ("smaller parts", "larger parts", "ask the ranks", "ada"):
            expect(table).to_contain_text(text)
        expect(table).to_contain_text(re.compile("released|staged"))
        self.screenshot("config-light-1280")
        expect(self.page.get_by_role("table", name="Audit of this key")).to_contain_text("ada")

    def test_two_versions_can_be_compared_and_the_address_says_which(self):
        first, second, third = [version["version"] for version in self.versions()[:3]]
        self.open(f"#/configs/{self.key}?diff={first},{second}")
        difference = self.page.get_by_role("table", name=f"Version {first} and Version {second}")
        changed = difference.get_by_role("row").filter(has_text="partition_bytes")
        expect(changed).to_contain_text("1 MiB")
        expect(changed).to_contain_text("2 MiB")
        expect(changed).to_contain_text("changed")
        self.page.get_by_label("Second version to compare").select_option(str(third))
        expect(self.page).to_have_url(re.compile(f"diff={first},{third}"))
        expect(self.page.get_by_role("table", name=f"Version {first} and Version {third}")
               ).to_contain_text("negotiated")
        self.page.go_back()
        expect(difference).to_be_visible()

    def test_a_version_can_be_gone_back_to(self):
        self.open(f"#/configs/{self.key}")
        before = len(self.versions())
        first = self.versions()[0]["version"]
        self.page.get_by_role("button", name=f"Roll back to version {first}", exact=True).click()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_label("Why", exact=True).fill("the first was the best")
        expect(dialog.get_by_role("heading", name="What will happen")).to_be_visible()
        expect(dialog.get_by_role("table", name="What changes")).to_contain_text("1 MiB")
        dialog.get_by_role("button", name="Roll back", exact=True).click()
        expect(dialog).to_have_count(0)
        expect(self.page.get_by_role("table", name="Versions").get_by_role("row")
               ).to_have_count(before + 2)
        newest = self.versions()[-1]
        self.assertEqual(newest["config"]["partition_bytes"], 1 << 20)
        expect(self.page.get_by_role("table", name="Audit of this key")).to_contain_text(
            "the first was the best")

    def test_the_audit_says_who_changed_what_and_why(self):
        self.open("#/configs/audit")
        table = self.page.get_by_role("table").first
        for text in ("ada", "smaller parts", "promote"):
            expect(table).to_contain_text(text)
        self.screenshot("audit-light-1280")
        self.page.get_by_label("Key or study").fill(self.key)
        self.page.get_by_role("button", name="Show", exact=True).click()
        expect(self.page).to_have_url(re.compile(re.escape(f"subject={self.key}")))
        rows = table.get_by_role("row")
        expect(rows).to_have_count(len(self.world.get(
            f"/v1/audit?subject={segment(self.key)}")["entries"]) + 1)
        expect(table).not_to_contain_text("end_search")


if __name__ == "__main__":
    main()
