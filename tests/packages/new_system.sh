# Sourced by tests that use hocket in a new Debian system, after own_mounts.sh: makes one in memory.
#
#   new_system RELEASE       a Debian of this code name in $root, from the mirror that this
#                            machine's apt uses; $work is a folder beside it. Exits 77, with the
#                            reason, where it cannot be made
#   within COMMAND…          runs a command in it
#   took WHAT                says how long it has taken so far

skip() {
  echo "$1" >&2
  exit 77
}
fail() {
  echo "$(basename -- "$0"): $1" >&2
  exit 1
}

new_system() {
  command -v debootstrap >/dev/null || skip "debootstrap is not installed"
  # The mirror of this machine's own release has the others, too; that of its updates has none.
  own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016 # apt's own names
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' \
    'Created-By: Packages' |
    awk -v own="$own" '$1 == "Debian" && $2 == own { sub("/$", "", $3); print $3; exit }')
  [ -n "$mirror" ] || skip "apt has no index of Debian $own"
  work=$(mktemp -d "${TMPDIR:-/tmp}/hocket-system-XXXXXX")
  root=$work/root
  trap finish EXIT
  trap 'exit 1' HUP INT TERM
  # In memory where there is room: many small files are written.
  mount -t tmpfs -o size=3g,mode=0755 none "$work"
  began=$(date +%s)
  if ! /usr/lib/apt/apt-helper download-file "$mirror/dists/$1/InRelease" "$work/release" \
    >"$work/log" 2>&1; then
    cat "$work/log" >&2
    skip "the mirror $mirror cannot be reached, or has no $1"
  fi
  # shellcheck disable=SC2086 # options
  if ! debootstrap --variant=minbase ${new_system_options:-} "$1" "$root" "$mirror" \
    >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    fail "debootstrap could not make a system from $mirror"
  fi
  took "a new Debian $1"
  mount -t proc proc "$root/proc"
  apt-config dump Acquire::http Acquire::https >"$root/etc/apt/apt.conf.d/90acquire" || true
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp /etc/hosts "$root/etc/hosts"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fast"
  # A package's own files are what is tested, so documentation and manual pages are installed.
  rm -f "$root/etc/dpkg/dpkg.cfg.d/docker"
}

# shellcheck disable=SC2317 # it is called
finish() {
  umount --lazy "$root/proc" 2>/dev/null || true
  umount --lazy "$work" 2>/dev/null || true
  rmdir "$work"
}

took() {
  echo "== $1: $(($(date +%s) - began)) s since the start"
}

within() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}
