#!/bin/sh
# Builds the Debian packages in a new system and leaves them in a folder:
#
#   packages_in_system.sh RELEASE SOURCES FOLDER
#
# RELEASE is a code name (tests/packages/new_system.sh). It takes root, and 8 GB of memory for the
# system with what it builds.
set -eu

tests=$(CDPATH='' cd -- "$(dirname -- "$0")/../../tests/packages" && pwd)
. "$tests/own_mounts.sh"
. "$tests/new_system.sh"
release=$1 sources=$2 folder=$3

new_system_bytes=8g
new_system "$release"
# The sources as they are, without what was built of them for another system.
mkdir "$root/sources"
tar --create --directory "$sources" --exclude=./build . | tar --extract --directory "$root/sources"
# Packages for tests and benchmarks alone stay away, and clang's, whose names differ.
sed -e '/^# Tests and benchmarks/,$d' -e 's/#.*//' -e '/^clang\|^libclang/d' \
  "$sources/scripts/packages.txt" >"$root/wanted"
# shellcheck disable=SC2016 # the inner shell's
within sh -euc 'apt-get update &&
  apt-get install -y --no-install-recommends $(cat /wanted) dpkg-dev file' >"$work/log" 2>&1 ||
  { tail -n 30 "$work/log" >&2; fail "what the build needs cannot be installed"; }
took "what the build needs installed"
# Warnings of other compilers are not errors of a release.
within env SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-}" sh -euc '
  cd /sources
  cmake --preset jobs -DHOCKET_BUILD_FOLDERS=OFF -DHOCKET_WARNINGS_ARE_ERRORS=OFF \
    -DBUILD_TESTING=OFF
  cmake --build build/release --target gpt2_demo hocket_reference hocket_client_c \
    hocket_nccl_plugin hocket_nccl_profiler hocket_archives
  cpack -G DEB --config build/release/CPackConfig.cmake -B /packages' >"$work/log" 2>&1 ||
  { tail -n 60 "$work/log" >&2; fail "the packages cannot be built"; }
cp "$root"/packages/*.deb "$folder"
took "built"
