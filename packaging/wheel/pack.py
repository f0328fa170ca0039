"""Packs what scripts/wheel has staged, in the Python environment of build/wheel/tools.

    pack.py STAGE LIBRARIES OUT

STAGE has the package hocket with its program and libraries. Those of Debian that they need are
copied to LIBRARIES, and from there into the wheel by auditwheel, which also checks that nothing
newer than the wheel's platform says is needed. LIBRARIES/../bundled.json lists the packages that
they are of, for packaging/release/sbom.py.
"""

import json
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
# Libraries of which the wheel has only the functions that hocket calls, linked anew from static
# ones: libarchive reads many formats, for which it needs libraries of 40 MB, and OpenBLAS brings LAPACK
# and the library of Fortran. For each, the names of its functions, and what it lacks on older
# systems.
SMALL = {
    "libarchive.so.13": (r"archive_\w+", "libarchive.a",
                         # Only names of temporary files are made of it, in functions that are not
                         # called. glibc has it since 2.36.
                         """#include <sys/random.h>
void arc4random_buf(void* bytes, unsigned long size) {
  if (getrandom(bytes, size, 0) != (long)size) __builtin_trap();
}
"""),
    "libopenblas.so.0": (r"(?:cblas|openblas)_\w+", "libopenblas.a", ""),
}
PROGRAMS = ("bin/hocket", "libexec/hocket/gpt2")

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


def make_small(name, large, users, folder):
    """Links a library `name` of those functions alone which `users` call, into the folder."""
    functions, archive, extra = SMALL[name]
    symbols = sorted({symbol for path in users
                      for symbol in re.findall(rf" U ({functions})$", output_of("nm", "-D", path),
                                               re.MULTILINE)})
    exports, source = folder.parent / f"{name}.map", folder.parent / f"{name}.c"
    exports.write_text("{ global: " + " ".join(f"{symbol};" for symbol in symbols)
                       + " local: *; };\n")
    source.write_text(extra)
    subprocess.run(["gcc", "-shared", "-O2", "-fPIC", "-o", folder / name, source,
                    f"-Wl,-soname,{name}", f"-Wl,--version-script={exports}",
                    *[f"-Wl,-u,{symbol}" for symbol in symbols], large.parent / archive,
                    "-Wl,--gc-sections,--as-needed,--no-undefined",
                    *[f"-l:{needed}" for needed in needed_by(large)], "-lm"], check=True)


def package_of(path):
    """Returns the Debian package that a library is of."""
    for name in (str(path), str(path).removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True,
                               check=False).stdout
        if found:
            return found.split(":")[0]
    sys.exit(f"wheel: {path} is of no Debian package, so its licence is not known")


def version_of(package):
    return output_of("dpkg-query", "--show", "--showformat=${Version}", package)


def collect(stage, folder):
    """Copies the libraries that the staged files need to the folder, and their licences into the
    package."""
    staged = [*[stage / name for name in PROGRAMS], *sorted((stage / "lib").glob("*.so*"))]
    found = {}
    for path in staged:
        found |= needed_by(path)
    roots, packages, partly = list(staged), set(), set()
    for name in SMALL.keys() & found.keys():
        large = found.pop(name)
        partly.add(package_of(large))
        make_small(name, large, staged, folder)
        roots.append(folder / name)
    # Libraries that only the large ones need stay away.
    found = reached_from(roots, found)
    packages |= {package_of(path) for path in found.values()}
    for name, path in found.items():
        shutil.copy2(path, folder / name)
        os.chmod(folder / name, 0o755)
    packages |= partly
    (folder.parent / "bundled.json").write_text(json.dumps(
        [{"name": package, "version": version_of(package), "partly": package in partly}
         for package in sorted(packages)], indent=1) + "\n")
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


def make_executable(wheel, names):
    """Sets the mode of files in a wheel, which pip gives to what it installs."""
    before = wheel.rename(wheel.with_suffix(".before"))
    with zipfile.ZipFile(before) as source, zipfile.ZipFile(wheel, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename in names:
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
    make_executable(wheel, [f"hocket/{name}" for name in PROGRAMS])
    subprocess.run([tools / "auditwheel", "repair", "--plat", PLATFORM, "--only-plat",
                    "--zip-compression-level", "9", "--exclude", OWN, "--wheel-dir", out, wheel],
                   env=os.environ | {"LD_LIBRARY_PATH": str(folder),
                                     "PATH": f"{tools}:{os.environ['PATH']}"}, check=True)
    (made,) = out.glob(f"hocket-*{PLATFORM}.whl")
    # By libdeflate, which finds 4 % more than zlib in seconds; zopfli finds no more.
    subprocess.run(["advzip", "--recompress", "--shrink-normal", "--quiet", made], check=True)
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")


main()
