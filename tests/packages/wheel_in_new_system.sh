#!/bin/sh
# Uses the wheel in a new system that has Python and nothing else:
#
#   wheel_in_new_system.sh SOURCES WHEELS RELEASE [demo] [torch]
#
# WHEELS is the folder of wheel_is_made.sh; RELEASE the code name of a Debian or Ubuntu. `demo` runs
# the demo with three trials; `torch` has a PyTorch job of two ranks tuned, with the PyTorch in
# build/torch, which is for Debian 12's Python. The user is not root, and writes nothing but into an
# environment of Python and a store. Exits 77, with the reason, where the system cannot be made.
set -eu

. "$(dirname -- "$0")/own_mounts.sh"
. "$(dirname -- "$0")/new_system.sh"
sources=$1 wheels=$2 release=$3
shift 3

new_system_options=--include=python3,python3-venv
new_system "$release"
cp "$wheels"/hocket-*.whl "$root/"
wheel=$(basename "$root"/hocket-*.whl)

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
took "installed, for $(as_user python3 --version), $(as_user ldd --version | head -n 1)"

version=$(echo "$wheel" | cut -d- -f2)
[ "$(as_user hocket --version)" = "hocket $version" ] || fail "hocket --version is not $version"
# Every library is found, in the wheel or in the system.
packages=$(cd "$root" && echo made/env/lib/python3*/site-packages)
for file in bin/hocket libexec/hocket/gpt2 $(cd "$root/$packages/hocket" && echo lib/*); do
  missing=$(as_user ldd "/$packages/hocket/$file" | grep 'not found' || true)
  [ -z "$missing" ] || fail "$(basename "$file") lacks $missing"
done
as_user hocket doctor >"$work/log" || { cat "$work/log" >&2; fail "hocket doctor"; }
! grep -E '^(client library|Python package) +(missing|wrong)' "$work/log" || fail "hocket doctor"
as_user python3 -c 'import hocket, hocket.graph, hocket.library; hocket.library.library()' ||
  fail "import hocket"
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

# with_daemon COMMAND…: runs a command of the user beside a daemon, which HOCKET_DAEMON names, in a
# network of their own.
with_daemon() {
  # shellcheck disable=SC2016 # the inner shells'
  unshare --net env -i HOCKET_OWN_ROOT="$root" sh -euc '
    PATH=/usr/sbin:/usr/bin:/sbin:/bin ip link set lo up
    exec /usr/sbin/chroot --userspec=ada:ada "$HOCKET_OWN_ROOT" /usr/bin/env -i \
      PATH=/made/env/bin:/usr/bin:/bin HOME=/users/ada LC_ALL=C.UTF-8 GLOO_SOCKET_IFNAME=lo \
      XDG_STATE_HOME=/made/state XDG_CACHE_HOME=/made/cache PYTHONDONTWRITEBYTECODE=1 \
      sh -euc "
        cd /made
        mkfifo said
        hocket serve >said 2>daemon.log &
        daemon=\$!
        exec 3<said
        rm said
        read -r HOCKET_DAEMON <&3 || { cat daemon.log >&2; exit 1; }
        export HOCKET_DAEMON
        status=0
        \"\$@\" || status=\$?
        kill -TERM \$daemon
        wait \$daemon
        exit \$status" sh "$@"' sh "$@"
}
with_daemon python3 -c '
import os, urllib.request
page = urllib.request.urlopen(os.environ["HOCKET_DAEMON"]).read().decode()
assert "<title>hocket" in page, page' || fail "the daemon has no page"
took "served"

for use in "$@"; do
  case $use in
    demo)
      as_user hocket demo --trials 3 --confirm 2 >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "hocket demo"; }
      cat "$work/log"
      ;;
    torch)
      torch=$sources/build/torch/lib/python3.11/site-packages
      [ -d "$torch/torch" ] || skip "there is no $torch; scripts/setup torch makes it"
      mkdir "$root/torch"
      mount --bind "$torch" "$root/torch"
      mount -o remount,bind,ro "$root/torch"
      echo /torch >"$root/$packages/torch.pth"
      cp "$sources/tests/packages/ddp_job.py" "$root/"
      with_daemon sh -euc '
        hocket torch -- python3 -m torch.distributed.run --nproc-per-node 2 /ddp_job.py
        hocket jobs --ended
        hocket doctor --job -- python3 -m torch.distributed.run --nproc-per-node 2 /ddp_job.py' \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "hocket torch"; }
      cat "$work/log"
      grep -q 'hocket: .*: tuned while it trains' "$work/log" ||
        fail "hocket.torch says nothing of the job"
      grep -q '2 ranks have reported' "$work/log" || fail "the doctor has not heard of the ranks"
      ! grep -q 'the program is' "$work/log" || fail "the library and the program differ in version"
      rm "$root/$packages/torch.pth"
      ;;
    *) fail "expected demo or torch, found $use" ;;
  esac
  took "$use"
done

as_user pip uninstall --quiet --yes hocket
after=$(files)
[ "$before" = "$after" ] || fail "pip uninstall leaves $(echo "$after" | grep hocket)"
[ -f "$root/made/state/hocket/hocket.db" ] || fail "pip uninstall has removed the store"
took "removed"
