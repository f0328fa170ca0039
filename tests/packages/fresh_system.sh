#!/bin/sh
# Installs the packages into a new system, uses them there, and removes them:
#
#   fresh_system.sh SOURCES PACKAGES [RELEASE [demo]]
#
# RELEASE is the code name of the Debian or Ubuntu for which they were made, by default that of this
# machine; `demo` runs the demo with three trials. Exits 77, with the reason, where the system
# cannot be made.
set -eu

. "$(dirname -- "$0")/own_mounts.sh"
. "$(dirname -- "$0")/new_system.sh"
sources=$1 packages=$2
release=${3:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)} demo=${4:-}

new_system "$release"

# Prints the files and users of hocket in the system.
ours() {
  (cd "$root" && find . -path ./proc -prune -o -name '*hocket*' -print | sort)
}

[ -z "$(ours)" ] || fail "a new system has files of hocket: $(ours)"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
within sh -euc 'apt-get update && apt-get install -y --no-install-recommends /packages/*.deb' \
  >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; fail "the packages cannot be installed"; }
took "the packages installed"

# As the program writes it (cmake/HocketPackages.cmake).
version=$(dpkg-deb --field "$(ls "$packages"/hocket_*.deb)" Version | sed 's/~dev/.dev/')
[ "$(within hocket --version)" = "hocket $version" ] || fail "hocket --version is not $version"
within hocket --help | grep -q 'hocket VERB --help' || fail "hocket --help says nothing"
for file in /usr/share/man/man1/hocket-tune.1.gz /usr/share/bash-completion/completions/hocket \
  /usr/share/zsh/vendor-completions/_hocket /usr/share/fish/vendor_completions.d/hocket.fish \
  /usr/share/hocket/python/hocket/torch/__init__.py; do
  [ -f "$root$file" ] || fail "there is no $file"
done
gzip -dc "$root/usr/share/man/man1/hocket-tune.1.gz" | grep -q '^.TH HOCKET' ||
  fail "the manual page is none"
# shellcheck disable=SC2016 # bash's
within bash -euc 'source /usr/share/bash-completion/completions/hocket
  COMP_WORDS=(hocket stu) COMP_CWORD=1 && _hocket && [[ ${COMPREPLY[*]} == studies ]]' ||
  fail "bash does not complete"
within python3 -c 'import hocket, hocket.graph, hocket.library; hocket.library.library()' ||
  fail "python3 cannot import hocket"
[ -d "$root/usr/share/hocket/python/hocket/__pycache__" ] || fail "the modules are not compiled"
within /usr/libexec/hocket/gpt2 --help >/dev/null || fail "the job of the demo does not start"
[ -f "$root/usr/share/doc/hocket/docs/guides/tune.md" ] || fail "the guides are missing"
within hocket doctor || fail "hocket doctor finds something wrong"

# The user, and the daemon as the unit starts it.
entry=$(grep '^hocket:' "$root/etc/passwd") || fail "there is no user hocket"
case $entry in
  *:/var/lib/hocket:/usr/sbin/nologin) ;;
  *) fail "the user is not a system user with the state folder for a home: $entry" ;;
esac
unit=$root/usr/lib/systemd/system/hocket.service
grep -q '^User=hocket$' "$unit" || fail "the unit has another user"
if command -v systemd-analyze >/dev/null; then
  mkdir "$work/units"
  sed 's|^ExecStart=/usr/bin/hocket |ExecStart=/bin/true |' "$unit" >"$work/units/hocket.service"
  cp "${unit%.service}.socket" "$work/units"
  systemd-analyze verify --man=no "$work"/units/* >"$work/log" 2>&1 || true
  if [ -s "$work/log" ]; then fail "systemd-analyze says of the units: $(cat "$work/log")"; fi
fi
for link in multi-user.target.wants/hocket.service sockets.target.wants/hocket.socket; do
  [ -L "$root/etc/systemd/system/$link" ] || fail "$link is not enabled"
done

# serves COMMAND…: whether the daemon starts as its user, answers there, and ends when it is told.
# shellcheck disable=SC2016 # the inner shell's
serves() {
  # A network of its own, in which the port is free.
  unshare --net sh -euc '
    root=$1
    shift
    ip link set lo up
    as_user="env -i PATH=/usr/sbin:/usr/bin:/bin XDG_STATE_HOME=/var/lib
      chroot --userspec=hocket:hocket $root"
    mkfifo "$root/said"
    $as_user "$@" >"$root/said" 2>"$root/log" &
    daemon=$!
    exec 3<"$root/said"
    rm "$root/said"
    # Its address, once it listens; nothing if it has ended.
    read -r address <&3 || { cat "$root/log" >&2; exit 1; }
    echo "serves: $address"
    $as_user hocket configs --json
    $as_user hocket doctor >/dev/null
    kill -TERM "$daemon"
    wait "$daemon"' serves "$root" "$@"
}
within install -d -o hocket -g hocket -m 0755 /var/lib/hocket # as systemd does
# shellcheck disable=SC2046 # a list of words
serves $(sed -n 's/^ExecStart=//p' "$unit") || fail "the daemon of the unit does not serve"
[ -f "$root/var/lib/hocket/hocket.db" ] || fail "the daemon has no store in /var/lib/hocket"
# The same of the last stage of the container's recipe.
command=$(sed -n 's/^CMD \[\(.*\)\]$/\1/p' "$sources/packaging/container/Containerfile" |
  tr -d '",')
# shellcheck disable=SC2086 # a list of words
serves $command || fail "the daemon of the container does not serve"
took "used"
if [ "$demo" = demo ]; then
  # Its store goes with the home, as a user's does.
  within env HOME=/demo hocket demo --trials 3 --confirm 2 >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "hocket demo"; }
  cat "$work/log"
  rm -r "$root/demo"
  took demo
fi

# Again, as an upgrade does it.
within sh -euc 'dpkg -i /packages/hocket-daemon_*.deb' >/dev/null || fail "it cannot be upgraded"
rm -r "$root/packages"
names=$(for file in "$packages"/*.deb; do basename "$file" | sed 's/_.*//'; done)
# shellcheck disable=SC2086 # a list of words
within apt-get remove -y $names >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "apt-get remove"; }
[ -f "$root/var/lib/hocket/hocket.db" ] || fail "removing the packages has removed the store"
[ ! -e "$root/usr/bin/hocket" ] || fail "the program is still there"
# shellcheck disable=SC2086
within dpkg --purge $names >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "dpkg --purge"; }
left=$(ours)
[ -z "$left" ] || fail "after a purge there is still: $left"
grep -q '^hocket:' "$root/etc/passwd" || fail "the user has gone, whose number another may get"
took "removed"
