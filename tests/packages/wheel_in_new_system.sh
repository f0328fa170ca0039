#!/bin/sh
# Makes the wheel of what is built, and uses it in a new system that has Python and nothing else:
#
#   wheel_in_new_system.sh SOURCES
#
# The system is Debian 13, whose glibc, Python and libraries are newer than those of the build. The
# user is not root, and writes nothing but into an environment of Python and a store. Exits 77, with
# the reason, where the system cannot be made or the wheel's tools cannot be had.
set -eu

. "$(dirname -- "$0")/own_mounts.sh"
. "$(dirname -- "$0")/new_system.sh"
sources=$1

# The packages of Python come from an index, which a machine may not reach.
made=$(mktemp -d "${TMPDIR:-/tmp}/hocket-wheel-XXXXXX")
if ! "$sources/scripts/wheel" --tools >"$made/log" 2>&1; then
  cat "$made/log" >&2
  rm -r "$made"
  echo "what makes the wheel cannot be installed" >&2
  exit 77
fi
if ! "$sources/scripts/wheel" --no-build "$made" >"$made/log" 2>&1; then
  cat "$made/log" >&2
  exit 1
fi
tail -n 1 "$made/log"

new_system_options=--include=python3,python3-venv
new_system trixie
cp "$made"/*.whl "$root/"
rm -r "$made"
wheel=$(basename "$root"/hocket-*.whl)
[ "$(stat --format %s "$root/$wheel")" -le 25000000 ] || fail "the wheel has more than 25 MB"

# A user whose home cannot be written to, with a folder for what it makes.
mkdir "$root/users"
within useradd --create-home --home-dir /users/ada --base-dir /users ada
chmod 0555 "$root/users/ada"
within install -d -o ada /made
as_user() {
  env -i PATH=/made/env/bin:/usr/bin:/bin HOME=/users/ada LC_ALL=C.UTF-8 \
    XDG_STATE_HOME=/made/state XDG_CACHE_HOME=/made/cache PYTHONDONTWRITEBYTECODE=1 \
    "$(command -v chroot)" --userspec=ada:ada "$root" sh -c 'cd /made && exec "$@"' sh "$@"
}
as_user python3 -m venv /made/env
files() {
  (cd "$root/made/env" && find . -name __pycache__ -prune -o -print | sort)
}
before=$(files)
as_user pip install --no-index --quiet "/$wheel" || fail "pip cannot install the wheel"
took "the wheel installed"

version=$(echo "$wheel" | cut -d- -f2)
[ "$(as_user hocket --version)" = "hocket $version" ] || fail "hocket --version is not $version"
# Every library is found, in the wheel or in the system.
for file in "$root"/made/env/lib/python3*/site-packages/hocket/bin/hocket \
  "$root"/made/env/lib/python3*/site-packages/hocket/lib/*; do
  missing=$(as_user ldd "${file#"$root"}" | grep 'not found' || true)
  [ -z "$missing" ] || fail "$(basename "$file") lacks $missing"
done
as_user hocket doctor >"$work/log" || { cat "$work/log" >&2; fail "hocket doctor"; }
! grep -E '^(client library|Python package) +(missing|wrong)' "$work/log" || fail "hocket doctor"
as_user python3 -c 'import hocket, hocket.library; hocket.library.library()' || fail "import hocket"
as_user hocket nccl -- sh -ec '
  python3 -c "import ctypes, sys
for kind, table in ((\"tuner\", \"ncclTunerPlugin_v5\"), (\"profiler\", \"ncclProfiler_v5\")):
    getattr(ctypes.CDLL(f\"libnccl-{kind}-{sys.argv[1]}.so\"), table)" "$NCCL_TUNER_PLUGIN"' ||
  fail "the plugin is not found by its names"
# shellcheck disable=SC2016 # the program's
as_user hocket tune --trials 3 --param X=int:1..9 --objective regex:'y=([0-9]+)' -- \
  sh -c 'echo y=$(($X + 1))' >"$work/log" 2>&1 || [ $? -eq 3 ] || {
  cat "$work/log" >&2
  fail "hocket tune"
}
[ -f "$root/made/state/hocket/hocket.db" ] || fail "there is no store"
took "used"

as_user pip uninstall --quiet --yes hocket
after=$(files)
[ "$before" = "$after" ] || fail "pip uninstall leaves $(echo "$after" | grep hocket)"
[ -f "$root/made/state/hocket/hocket.db" ] || fail "pip uninstall has removed the store"
took "removed"
