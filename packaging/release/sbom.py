"""Writes what a release consists of as an SBOM (SPDX 2.3, JSON), in the environment of
scripts/wheel.

    sbom.py VERSION BUNDLED FOLDER

writes FOLDER/hocket-VERSION.spdx.json about the files in FOLDER. BUNDLED is what packaging/wheel/
pack.py writes about the libraries in the wheel.
"""

import datetime
import hashlib
import json
import os
import pathlib
import sys

from spdx_tools.common.spdx_licensing import spdx_licensing
from spdx_tools.spdx.model import (
    Actor, ActorType, Checksum, ChecksumAlgorithm, CreationInfo, Document, ExternalPackageRef,
    ExternalPackageRefCategory, Package, PackagePurpose, Relationship, RelationshipType,
    SpdxNoAssertion)
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.write_anything import write_file

MAINTAINERS = Actor(ActorType.ORGANIZATION, "The hocket maintainers")
LICENSE = spdx_licensing.parse("Apache-2.0")


def checksum_of(path):
    return Checksum(ChecksumAlgorithm.SHA256, hashlib.sha256(path.read_bytes()).hexdigest())


def made(path, folder, version):
    """Describes a file of the release."""
    name = str(path.relative_to(folder))
    return Package(
        spdx_id="SPDXRef-" + "".join(c if c.isalnum() else "-" for c in name), name=name,
        version=version, download_location=SpdxNoAssertion(), supplier=MAINTAINERS,
        files_analyzed=False, checksums=[checksum_of(path)],
        license_concluded=SpdxNoAssertion(), license_declared=SpdxNoAssertion(),
        copyright_text=SpdxNoAssertion(), primary_package_purpose=PackagePurpose.ARCHIVE)


def bundled(package):
    """Describes a Debian package whose libraries the wheel has; its licences lie in the wheel."""
    reference = f"pkg:deb/debian/{package['name']}@{package['version']}?distro=bookworm"
    return Package(
        spdx_id="SPDXRef-debian-" + "".join(
            c if c.isalnum() or c in ".-" else "-" for c in package["name"]),
        name=package["name"], version=package["version"], supplier=SpdxNoAssertion(),
        download_location=SpdxNoAssertion(), files_analyzed=False,
        license_concluded=SpdxNoAssertion(), license_declared=SpdxNoAssertion(),
        license_comment=f"hocket/licences/{package['name']}.txt in the wheel",
        copyright_text=SpdxNoAssertion(), primary_package_purpose=PackagePurpose.LIBRARY,
        external_references=[ExternalPackageRef(
            ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", reference)],
        comment="linked anew, in part" if package["partly"] else None)


def document_of(version, folder, packages):
    """Returns the document about the files of the folder and the packages bundled in the wheel."""
    made_at = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]),
                                              datetime.timezone.utc).replace(tzinfo=None)
    own = Package(
        spdx_id="SPDXRef-hocket", name="hocket", version=version, supplier=MAINTAINERS,
        download_location=SpdxNoAssertion(), files_analyzed=False,
        license_concluded=LICENSE, license_declared=LICENSE, copyright_text=SpdxNoAssertion(),
        primary_package_purpose=PackagePurpose.APPLICATION)
    files = [made(path, folder, version) for path in sorted(folder.rglob("*"))
             if path.is_file() and path.suffix in (".whl", ".gz", ".deb")]
    libraries = [bundled(package) for package in packages]
    relationships = [Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, own.spdx_id)]
    for file in files:
        relationships.append(Relationship(file.spdx_id, RelationshipType.CONTAINS, own.spdx_id))
        if file.name.endswith(".whl"):
            relationships += [Relationship(file.spdx_id, RelationshipType.CONTAINS, library.spdx_id)
                              for library in libraries]
    digest = hashlib.sha256("".join(file.checksums[0].value for file in files).encode())
    return Document(
        CreationInfo(spdx_version="SPDX-2.3", spdx_id="SPDXRef-DOCUMENT", name=f"hocket-{version}",
                     document_namespace=f"https://hocket.dev/spdx/{digest.hexdigest()}",
                     creators=[MAINTAINERS], created=made_at),
        packages=[own, *files, *libraries], relationships=relationships)


def main():
    version, packages, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    document = document_of(version, folder, json.loads(packages.read_text()))
    problems = validate_full_spdx_document(document)
    if problems:
        sys.exit("sbom: " + "; ".join(problem.validation_message for problem in problems))
    write_file(document, str(folder / f"hocket-{version}.spdx.json"), validate=False)


if __name__ == "__main__":
    main()
