"""Lets programs and libraries of Debian 12 start with glibc 2.34 and the C++ library of GCC 11.

A file names, for each symbol that it takes from a library, the version that it was linked with. Of
the symbols below, older systems have an older version that does the same for their callers. So the
name of the version is replaced; nothing else of the file changes.
"""

import struct

from elftools.elf.elffile import ELFFile

# A newer version, the older one, and the symbols for which it does.
OLDER = {
    # Newer ones set errno in another way.
    b"GLIBC_2.35": (b"GLIBC_2.2.5", {b"hypot"}),
    # std::condition_variable::wait(), which became noexcept.
    b"GLIBCXX_3.4.30": (b"GLIBCXX_3.4.11",
                        {b"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"}),
}
_VERNEED, _VERNAUX = struct.Struct("<HHIII"), struct.Struct("<IHHII")


class CannotLower(Exception):
    """Names the file, the version and the symbols that need it."""


def _elf_hash(name):
    """The hash of the System V ABI, chapter 5, for names of versions."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def _string_at(strings, offset):
    return strings[offset:strings.index(b"\0", offset)]


def lower(path):
    """Replaces the versions of OLDER in the file, where it needs them. Raises CannotLower where a
    symbol needs the newer one."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        needs = elf.get_section_by_name(".gnu.version_r")
        if needs is None:
            return
        strings = elf.get_section_by_name(".dynstr").data()
        symbols = elf.get_section_by_name(".dynsym").data()
        versions = elf.get_section_by_name(".gnu.version").data()
        entries, begin = needs.data(), needs["sh_offset"]
    users = {}
    for number in range(len(versions) // 2):
        version = struct.unpack_from("<H", versions, 2 * number)[0] & 0x7FFF
        name = _string_at(strings, struct.unpack_from("<I", symbols, 24 * number)[0])
        users.setdefault(version, set()).add(name)
    changes = []
    for at in _versions_at(entries):
        _, flags, index, name_at, following = _VERNAUX.unpack_from(entries, at)
        name = _string_at(strings, name_at)
        older, known = OLDER.get(name, (None, set()))
        if older is None:
            continue
        others = users.get(index & 0x7FFF, set()) - known
        older_at = strings.find(b"\0" + older + b"\0") + 1
        if others or older_at == 0:
            names = b", ".join(sorted(others)).decode() or f"no {older.decode()} is named in it"
            raise CannotLower(f"{path} needs {name.decode()}: {names}")
        changes.append((begin + at,
                        _VERNAUX.pack(_elf_hash(older), flags, index, older_at, following)))
    with open(path, "r+b") as file:
        for offset, data in changes:
            file.seek(offset)
            file.write(data)


def _versions_at(entries):
    """Returns the places of the versions that a file needs, in its section .gnu.version_r."""
    places, of_library = [], 0
    while True:
        _, count, _, first, next_library = _VERNEED.unpack_from(entries, of_library)
        at = of_library + first
        for _ in range(count):
            places.append(at)
            at += _VERNAUX.unpack_from(entries, at)[4]
        if next_library == 0:
            return places
        of_library += next_library
