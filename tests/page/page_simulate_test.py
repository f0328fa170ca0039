"""The simulator: predictions that follow the settings, from a profile and from a step."""

import json
import pathlib
import re

from playwright.sync_api import expect

from page_browser import PageTest, main

STEPS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "steps"


class PageSimulate(PageTest):
    profiles = True

    def prediction(self):
        return self.page.get_by_role("region", name="Prediction")

    def open_profile(self, more=""):
        self.open(f"#/simulate?profile={self.profile_names[0]}{more}")
        expect(self.prediction()).to_contain_text("Predicted iteration")
        return self.prediction().get_by_role("table").inner_text()

    def test_a_profile_is_chosen_and_predicted_with_its_error(self):
        self.open("#/simulate")
        expect(self.page.get_by_text("Nothing is chosen yet")).to_be_visible()
        profiles = self.page.get_by_role("combobox", name="Profile", exact=True)
        profiles.select_option(self.profile_names[0])
        table = self.prediction().get_by_role("table")
        answer = self.world.send("POST", "/v1/simulate", {"profile": self.profile_names[0]})
        self.assertLess(answer["low_ns"], answer["high_ns"])
        expect(table.get_by_role("row").filter(has_text="Prediction")).to_contain_text("–")
        self.page.wait_for_url(re.compile(f"profile={self.profile_names[0]}"))
        expect(self.page.get_by_role("application")).to_be_visible()
        self.screenshot("simulate-light-1280")

    def test_a_slider_changes_the_prediction_as_it_moves(self):
        before = self.open_profile()
        slider = self.page.get_by_role("slider", name="partition_bytes")
        slider.focus()
        for _ in range(6):
            self.page.keyboard.press("ArrowLeft")
        expect(self.prediction().get_by_role("table")).not_to_have_text(
            before, use_inner_text=True)
        self.page.wait_for_url(re.compile("partition_bytes=65536"))
        expect(slider).to_have_accessible_name("partition_bytes")
        answer = self.world.send("POST", "/v1/simulate", {
            "profile": self.profile_names[0], "config": {"partition_bytes": 65536}})
        milliseconds = answer["iteration_ns"] / 1e6
        expect(self.prediction()).to_contain_text(f"{milliseconds:.4g} ms")
        # The prediction and what the job ran with are drawn on one scale.
        expect(self.page.get_by_role("application").filter(visible=True)).to_have_count(2)
        expect(self.page.get_by_text("--set partition_bytes=64KiB")).to_be_visible()
        self.screenshot("simulate-changed-light-1280")
        self.page.get_by_role("button", name="Reset partition_bytes").click()
        expect(self.prediction().get_by_role("table")).to_have_text(before, use_inner_text=True)

    def test_ranks_links_and_order_change_the_prediction(self):
        # Between hosts nothing was measured, and the daemon says that it must be told.
        self.watch.allow("400")
        before = self.open_profile()
        self.page.get_by_label("Ranks, exact value", exact=True).fill("64")
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(re.compile("ranks=64"))
        expect(self.page.get_by_role("alert").filter(has_text="link between hosts")).to_be_visible()
        self.page.get_by_role("checkbox", name="Network between hosts").check()
        self.page.wait_for_url(re.compile("network_link="))
        expect(self.prediction()).to_contain_text("64 ranks")
        expect(self.page.get_by_role("alert").filter(has_text="link between hosts")
               ).to_have_count(0)
        table = self.prediction().get_by_role("table")
        expect(table).not_to_have_text(before, use_inner_text=True)
        self.page.get_by_role("combobox", name="order", exact=True).select_option("negotiated")
        self.page.wait_for_url(re.compile("order=negotiated"))
        expect(self.page.get_by_role("main")).to_contain_text("--set order=negotiated")

    def test_a_factor_on_the_bandwidth_changes_the_prediction(self):
        self.open("#/simulate")
        self.page.get_by_label("or a step description").set_input_files(
            str(STEPS / "resnet50.json"))
        table = self.prediction().get_by_role("table")
        expect(self.prediction()).to_contain_text("Predicted iteration")
        before = table.inner_text()
        self.page.get_by_label("Bandwidth scale, exact value", exact=True).fill("0.1")
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(re.compile("bandwidth_scale=0.1"))
        expect(table).not_to_have_text(before, use_inner_text=True)
        expect(self.page.get_by_role("main")).to_contain_text("--bandwidth-scale 0.1")
        self.page.get_by_role("button", name="Reset Bandwidth scale").click()
        expect(table).to_have_text(before, use_inner_text=True)

    def test_the_address_has_all_settings(self):
        self.open_profile("&credit_bytes=262144&ranks=8&network_link=25gbit,10us")
        expect(self.prediction()).to_contain_text("8 ranks")
        expect(self.page.get_by_label("credit_bytes, exact value",
                                               exact=True)).to_have_value("256 KiB")
        expect(self.page.get_by_role("checkbox", name="Network between hosts")).to_be_checked()

    def test_a_step_description_is_opened(self):
        self.open("#/simulate")
        path = STEPS / "resnet50.json"
        self.page.get_by_label("or a step description").set_input_files(str(path))
        expect(self.prediction()).to_contain_text("Predicted iteration")
        expect(self.prediction()).to_contain_text("Nothing was measured of this step")
        answer = self.world.send("POST", "/v1/simulate", {
            "step": json.loads(path.read_text(encoding="utf-8"))})
        self.assertIsNone(answer["low_ns"])
        expect(self.page.get_by_text("open: resnet50.json")).to_be_visible()

    def test_what_is_no_step_is_refused_with_its_reason(self):
        self.watch.allow("400")
        self.open("#/simulate")
        chooser = self.page.get_by_label("or a step description")
        for name, text in {"words.json": b"no JSON", "other.json": b'{"format": "other"}'}.items():
            with self.subTest(name):
                chooser.set_input_files({"name": name, "mimeType": "application/json",
                                         "buffer": text})
                alert = self.page.get_by_role("main").get_by_role("alert").filter(visible=True)
                expect(alert.first).to_contain_text(re.compile("no step description|predicted"))
                expect(alert.first).to_contain_text(re.compile("JSON|format"))

    def test_what_a_knob_cannot_be_is_refused(self):
        before = self.open_profile()
        field = self.page.get_by_label("partition_bytes, exact value")
        field.fill("plenty")
        self.page.keyboard.press("Enter")
        expect(self.page.get_by_role("alert").filter(has_text="Allowed are whole numbers")
               ).to_be_visible()
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(self.prediction().get_by_role("table")).to_have_text(before, use_inner_text=True)


if __name__ == "__main__":
    main()
