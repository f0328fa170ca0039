"""Packs what scripts/wheel has staged, in the Python environment of build/wheel/tools.

    pack.py STAGE LIBRARIES OUT

STAGE has the package hocket with its program and libraries. Those of Debian that they need are
copied to LIBRARIES, and from there into the wheel by auditwheel, which also checks that nothing
newer than the wheel's platform says is needed.
"""

import os
import pathlib
import platform
import re
import shutil
import stat
import subprocess
import sys
import zipfile

import older_versions

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLATFORM = f"manylinux_2_34_{platform.machine()}"
# Every system of that platform has these.
SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)"
                    r"\.so.*")
OWN = "libnccl-tuner-hocket.so"  # beside that which needs it
# libarchive reads many formats, and needs libraries of 40 MB for those which hocket does not read.
ARCHIVE = "libarchive.so.13"


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed_by(path):
    """Returns the libraries that a file loads with itself, by name, as the loader finds them."""
    found = {}
    for line in output_of("ldd", path).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow and not SYSTEM.fullmatch(name) and name != OWN:
            if rest.startswith("not found"):
                sys.exit(f"wheel: {path.name} needs {name}, which is not here; run scripts/setup")
            found[name] = pathlib.Path(rest.split(" (")[0]).resolve()
    return found


def make_small_archive(large, users, small):
    """Links a libarchive of those functions alone which `users` call."""
    symbols = sorted({symbol for path in users
                      for symbol in re.findall(r" U (archive_\w+)", output_of("nm", "-D", path))})
    exports, source = small.with_name("archive.map"), small.with_name("archive.c")
    exports.write_text("{ global: " + " ".join(f"{name};" for name in symbols)
                       + " local: *; };\n")
    # Only names of temporary files are made of it, in functions that are not called. glibc has it
    # since 2.36.
    source.write_text("#include <sys/random.h>\n"
                      "void arc4random_buf(void* bytes, unsigned long size) {\n"
                      "  if (getrandom(bytes, size, 0) != (long)size) __builtin_trap();\n}\n")
    subprocess.run(["gcc", "-shared", "-O2", "-fPIC", "-o", small, source,
                    f"-Wl,-soname,{ARCHIVE}", f"-Wl,--version-script={exports}",
                    *[f"-Wl,-u,{name}" for name in symbols], "-l:libarchive.a",
                    "-Wl,--gc-sections,--as-needed,--no-undefined",
                    *[f"-l:{name}" for name in needed_by(large)]], check=True)


def package_of(path):
    """Returns the Debian package that a library is of."""
    for name in (str(path), str(path).removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True,
                               check=False).stdout
        if found:
            return found.split(":")[0]
    sys.exit(f"wheel: {path} is of no Debian package, so its licence is not known")


def collect(stage, folder):
    """Copies the libraries that the staged files need to the folder, and their licences into the
    package."""
    staged = [stage / "bin/hocket", *sorted((stage / "lib").glob("*.so*"))]
    found = {}
    for path in staged:
        found |= needed_by(path)
    roots, packages = list(staged), set()
    if ARCHIVE in found:
        large = found.pop(ARCHIVE)
        packages.add(package_of(large))
        make_small_archive(large, staged, folder / ARCHIVE)
        roots.append(folder / ARCHIVE)
    # Libraries that only the large one needs stay away.
    found = reached_from(roots, found)
    packages |= {package_of(path) for path in found.values()}
    for name, path in found.items():
        shutil.copy2(path, folder / name)
        os.chmod(folder / name, 0o755)
    licences = stage / "licences"
    licences.mkdir()
    for package in sorted(packages):
        shutil.copy2(f"/usr/share/doc/{package}/copyright", licences / f"{package}.txt")
    for path in [*staged, *folder.glob("*.so*")]:
        older_versions.lower(path)


def direct_of(path):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-dW", path))


def reached_from(roots, found):
    """Returns those of the libraries that the files need, or what they need."""
    reached, left = {}, list(roots)
    while left:
        for name in direct_of(left.pop()):
            if name in found and name not in reached:
                reached[name] = found[name]
                left.append(found[name])
    return reached


def make_executable(wheel, name):
    """Sets the mode of a file in a wheel, which pip gives to what it installs."""
    before = wheel.rename(wheel.with_suffix(".before"))
    with zipfile.ZipFile(before) as source, zipfile.ZipFile(wheel, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename == name:
                entry.external_attr = (stat.S_IFREG | 0o755) << 16
            target.writestr(entry, data)
    before.unlink()


def main():
    stage, folder, out = map(pathlib.Path, sys.argv[1:])
    try:
        collect(stage, folder)
    except older_versions.CannotLower as problem:
        sys.exit(f"wheel: {problem}; it would not start on {PLATFORM} (packaging/wheel/"
                 "older_versions.py)")
    raw = folder.parent / "raw"
    tools = pathlib.Path(sys.prefix) / "bin"
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation",
                    "--no-deps", "--wheel-dir", raw, ROOT],
                   env=os.environ | {"HOCKET_WHEEL_STAGE": "1"}, check=True)
    (wheel,) = raw.glob("hocket-*.whl")
    make_executable(wheel, "hocket/bin/hocket")
    subprocess.run([tools / "auditwheel", "repair", "--plat", PLATFORM, "--only-plat", "--exclude",
                    OWN, "--wheel-dir", out, wheel],
                   env=os.environ | {"LD_LIBRARY_PATH": str(folder),
                                     "PATH": f"{tools}:{os.environ['PATH']}"}, check=True)
    (made,) = out.glob(f"hocket-*{PLATFORM}.whl")
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")


main()
