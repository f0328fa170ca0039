"""Tests what scripts/release says of a commit: its version, what changed, and the SBOM."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging/release"))

import changes
import versions

TOOLS = ROOT / "build/wheel/tools/bin/python"


class Versions(unittest.TestCase):
    def test_a_tag_is_its_version_and_commits_after_it_are_newer(self):
        self.assertEqual(versions.since_tag("v1.2.3-0-gabcdef0"), "1.2.3")
        self.assertEqual(versions.since_tag("v1.2.3-17-gabcdef0"), "1.2.3+17.gabcdef0")

    def test_before_the_first_tag_it_is_older_than_the_version_to_come(self):
        self.assertEqual(versions.before_tags("0.1.0", "1200", "abcdef01"),
                         "0.1.0.dev1200+gabcdef01")

    def test_other_names_are_refused(self):
        for described in ("v1.2-0-gabc", "1.2.3-0-gabc", "v1.2.3", "v1.2.3-rc1-0-gabc", ""):
            with self.assertRaises(versions.NoVersion, msg=described):
                versions.since_tag(described)
        with self.assertRaises(versions.NoVersion):
            versions.before_tags("0.1", "3", "abc")

    def test_pip_and_dpkg_sort_them_in_their_order(self):
        order = [versions.before_tags("0.1.0", "9", "a1"), versions.before_tags("0.1.0", "10", "b1"),
                 versions.since_tag("v0.1.0-0-gabc"), versions.since_tag("v0.1.0-9-gabc"),
                 versions.since_tag("v0.1.0-10-gabc"), versions.since_tag("v0.1.1-0-gabc")]
        for older, newer in zip(order, order[1:]):
            # As cmake/HocketPackages.cmake writes them.
            pair = [version.replace(".dev", "~dev") for version in (older, newer)]
            self.assertEqual(subprocess.run(["dpkg", "--compare-versions", pair[0], "lt", pair[1]],
                                            check=False).returncode, 0, pair)
        try:
            from packaging.version import Version
        except ImportError:
            self.skipTest("Python has no package named packaging here")
        self.assertEqual(sorted(order, key=Version), order)


class Changes(unittest.TestCase):
    TEXT = ("# Changes\n\nIntroduction.\n\n## Unreleased\n\n- New.\n\n## 0.2.0 (2026-12-01)\n\n- Two.\n"
            "- More.\n\n## 0.1.0 (2026-11-01)\n\n\n")

    def test_a_version_has_its_section(self):
        self.assertEqual(changes.of_version(self.TEXT, "0.2.0"), "# hocket 0.2.0\n\n- Two.\n- More.\n")

    def test_between_tags_it_is_what_is_not_released(self):
        for version in ("0.2.0+3.gabc", "0.1.0.dev4+gabc"):
            self.assertEqual(changes.of_version(self.TEXT, version), f"# hocket {version}\n\n- New.\n")

    def test_a_release_without_a_word_is_refused(self):
        for version in ("0.1.0", "0.3.0"):
            with self.assertRaises(changes.NoChanges, msg=version):
                changes.of_version(self.TEXT, version)

    def test_the_projects_own_has_what_is_not_released(self):
        self.assertIn("\n- ", changes.of_version((ROOT / "CHANGELOG.md").read_text(), "0.0.0+1.gabc"))


@unittest.skipUnless(TOOLS.exists(), "scripts/wheel --tools has not run")
class Sbom(unittest.TestCase):
    def test_it_names_each_file_and_each_library_in_the_wheel(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "bookworm").mkdir()
        (folder / "hocket-1.0.0-py3-none-manylinux_2_34_x86_64.whl").write_text("wheel")
        (folder / "bookworm/hocket_1.0.0_amd64.deb").write_text("package")
        bundled = folder / "bundled.json"
        bundled.write_text(json.dumps(
            [{"name": "libssl3", "version": "3.0.17-1~deb12u3", "partly": False},
             {"name": "libarchive13", "version": "3.6.2-1", "partly": True}]))
        subprocess.run([TOOLS, ROOT / "packaging/release/sbom.py", "1.0.0", bundled, folder],
                       env=os.environ | {"SOURCE_DATE_EPOCH": "1764370800"}, check=True)
        document = json.loads((folder / "hocket-1.0.0.spdx.json").read_text())
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        self.assertEqual({package["name"] for package in document["packages"]},
                         {"hocket", "hocket-1.0.0-py3-none-manylinux_2_34_x86_64.whl",
                          "bookworm/hocket_1.0.0_amd64.deb", "libssl3", "libarchive13"})
        contained = {relation["relatedSpdxElement"] for relation in document["relationships"]
                     if relation["spdxElementId"].endswith("whl")}
        self.assertEqual(contained, {"SPDXRef-hocket", "SPDXRef-debian-libssl3",
                                     "SPDXRef-debian-libarchive13"})
        (wheel,) = [package for package in document["packages"] if package["name"].endswith("whl")]
        self.assertEqual(wheel["checksums"][0]["algorithm"], "SHA256")
        self.assertEqual(len(wheel["checksums"][0]["checksumValue"]), 64)


if __name__ == "__main__":
    unittest.main()
