"""The part of CHANGELOG.md that is about one version. Pure functions."""

import re


class NoChanges(Exception):
    """Says for which version nothing is written."""


def of_version(changelog, version):
    """Returns the section of `changelog` for a version; a version between tags has the section
    "Unreleased". Raises NoChanges where there is none, or nothing in it."""
    title = version if re.fullmatch(r"\d+\.\d+\.\d+", version) else "Unreleased"
    for section in re.split(r"^(?=## )", changelog, flags=re.MULTILINE)[1:]:
        first, _, text = section.partition("\n")
        if first.removeprefix("## ").split()[0] == title:
            if not text.strip():
                raise NoChanges(f"there is nothing under \"{title}\"")
            return f"# hocket {version}\n\n{text.strip()}\n"
    raise NoChanges(f"there is no section \"## {title}\"")
