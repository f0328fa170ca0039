# Sourced by tests that use hocket in a new Debian system, after own_mounts.sh: makes one in memory.
#
#   new_system RELEASE       a Debian or Ubuntu of this code name in $root, Debian from the mirror
#                            that this machine's apt uses; $work is a folder beside it. Exits 77,
#                            with the reason, where it cannot be made
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

# The keys of Ubuntu's archive are in a package of Debian 13.
ubuntu_keys=pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1-0.2_all.deb
ubuntu_keys_sha256=b2e7ed48431bf9e7978ae810bbdaf253093570d6e3f864e575b7c13554b81174

# fetch URL FILE: whether a file can be had, as apt gets it.
fetch() {
  /usr/lib/apt/apt-helper download-file "$1" "$2" >"$work/log" 2>&1
}

new_system() {
  command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
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
  mount -t tmpfs -o "size=${new_system_bytes:-3g},mode=0755" none "$work"
  began=$(date +%s)
  options=
  case $1 in
    jammy | noble)
      fetch "$mirror/$ubuntu_keys" "$work/keys.deb" ||
        skip "$mirror has no keys of Ubuntu's archive"
      echo "$ubuntu_keys_sha256  $work/keys.deb" | sha256sum --check --quiet ||
        fail "the package with the keys of Ubuntu's archive is another"
      dpkg-deb --extract "$work/keys.deb" "$work/keys"
      options="--keyring=$work/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg"
      options="$options --components=main,universe"
      mirror=http://archive.ubuntu.com/ubuntu
      ;;
  esac
  if ! fetch "$mirror/dists/$1/InRelease" "$work/release"; then
    cat "$work/log" >&2
    skip "the mirror $mirror cannot be reached, or has no $1"
  fi
  # As debootstrap, in a third of the time. apt is in every image of these systems; Ubuntu does not
  # call it required. That which makes the system does not see this machine's options.
  apt-config dump Acquire::http Acquire::https >"$work/apt.conf"
  # shellcheck disable=SC2086 # options
  if ! mmdebstrap --variant=minbase --include=apt --aptopt="$work/apt.conf" $options \
    ${new_system_options:-} "$1" "$root" "$mirror" >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    fail "mmdebstrap could not make a system from $mirror"
  fi
  took "a new system, $1"
  mount -t proc proc "$root/proc"
  cp "$work/apt.conf" "$root/etc/apt/apt.conf.d/90acquire"
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
