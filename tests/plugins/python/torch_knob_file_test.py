"""The knobs of PyTorch that hocket declares (formats/knobs/torch.json) are those that hocket.torch
applies, with values that it takes."""

import json
import os
import unittest

from hocket.torch.autorun import hocket_knobs

FILE = os.path.join(os.path.dirname(__file__), "../../../formats/knobs/torch.json")


class KnobFileTest(unittest.TestCase):
    def test_every_knob_is_applied_and_takes_its_values(self):
        with open(FILE, encoding="utf-8") as file:
            declared = json.load(file)
        self.assertEqual([knob["name"] for knob in declared["knobs"]], list(hocket_knobs._READ))
        for knob in declared["knobs"]:
            read, _ = hocket_knobs._READ[knob["name"]]
            for value in knob.get("levels") or knob["choices"]:
                self.assertIsNotNone(read(str(value)), (knob["name"], value))
            self.assertEqual(knob["default"], "unset")

    def test_the_objective_is_the_line_that_a_trial_prints(self):
        with open(FILE, encoding="utf-8") as file:
            objective = json.load(file)["objective"]
        self.assertEqual(objective, "iteration[ms]=regex:hocket: iteration_ms=([0-9.]+)")


if __name__ == "__main__":
    unittest.main()
