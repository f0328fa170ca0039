"""Versions of releases, as Python (PEP 440) and Debian sort them. Pure functions."""

import re


class NoVersion(Exception):
    """Says which name is no version."""


def since_tag(described):
    """Returns the version for what `git describe --tags --long` says: "1.2.0" at the tag v1.2.0, and
    "1.2.0+7.gabcd123" seven commits later, which is newer. Raises NoVersion for another tag."""
    found = re.fullmatch(r"v(\d+\.\d+\.\d+)-(\d+)-(g[0-9a-f]+)", described)
    if not found:
        raise NoVersion(f"the tag of \"{described}\" is not of the form v1.2.3")
    version, commits, commit = found.groups()
    return version if commits == "0" else f"{version}+{commits}.{commit}"


def before_tags(version, commits, commit):
    """Returns the version of a commit before the first tag, which is older than `version`:
    "0.1.0.dev1200+gabcd1234" after 1,200 commits."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise NoVersion(f"VERSION has \"{version}\", which is not of the form 1.2.3")
    return f"{version}.dev{commits}+g{commit}"
