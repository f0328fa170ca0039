#!/bin/sh
# Makes the Debian packages and checks them with lintian:
#
#   made_packages.sh SOURCES BUILD FOLDER        leaves them in FOLDER
#
# Exits 77, with the reason, where lintian is not installed; the packages are made all the same.
set -eu

sources=$1 build=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
# Whatever the umask is, modes are those of a package.
(umask 077 && cpack -G DEB --config "$build/CPackConfig.cmake" -B "$folder")
rm -rf "$folder/_CPack_Packages"

cd "$folder"
names=$(for file in *.deb; do echo "${file%%_*}"; done | sort | tr '\n' ' ')
expected='hocket hocket-daemon hocket-demo libhocket-client1 libhocket-dev libnccl-plugin-hocket '
expected=$expected'python3-hocket '
if [ "$names" != "$expected" ]; then
  echo "expected the packages $expected, found $names" >&2
  exit 1
fi
for file in *.deb; do
  listing=$(dpkg-deb -c "$file")
  name=${file%%_*}
  for needed in "doc/$name/copyright" "doc/$name/changelog.gz"; do
    case $listing in
      *"./usr/share/$needed"*) ;;
      *) echo "$file has no $needed" >&2 && exit 1 ;;
    esac
  done
  usual='^(-rw-r--r--|-rwxr-xr-x|drwxr-xr-x|lrwxrwxrwx) root/root '
  if echo "$listing" | grep -vE "$usual"; then
    echo "$file: these have other owners or modes than a package's" >&2
    exit 1
  fi
  dpkg-deb --ctrl-tarfile "$file" | tar -x --to-stdout ./md5sums | grep -q usr/share/doc
done

# Texts keep their quotes.
dpkg-deb --field "$(ls hocket-demo_*.deb)" Description | grep -q '"hocket demo" tunes' || {
  echo "the description of hocket-demo is another than in cmake/HocketPackages.cmake" >&2
  exit 1
}

# The packages that the container is made of are among these.
for named in $(grep -o '/packages/[a-z0-9-]*_' "$sources/packaging/container/Containerfile"); do
  ls "$folder/${named#/packages/}"*.deb >/dev/null
done

if ! command -v lintian >/dev/null; then
  echo "lintian is not installed" >&2
  exit 77
fi
# packaging/debian has the reasons for what it is not to report.
lintian --no-cfg --allow-root --fail-on error,warning --tag-display-limit 0 \
  -- *.deb
