#!/bin/sh
# Installs what was built below a new prefix, and builds examples/installed outside of the sources
# with it, by CMake and by pkg-config:
#
#   outside_project.sh SOURCES BUILD LIBDIR CMAKE CC CXX
set -eu

sources=$1 build=$2 libdir=$3 cmake=$4 cc=$5 cxx=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
prefix=$work/prefix

fail() {
  echo "outside_project: $1" >&2
  exit 1
}
# says PROGRAM TEXT: whether the program prints the text.
says() {
  said=$("$1") || fail "$1 fails"
  [ "$said" = "$2" ] || fail "$1 says \"$said\", not \"$2\""
}

# A component alone: what runs a job in C.
"$cmake" --install "$build" --prefix "$work/client" --component client >/dev/null
files=$(cd "$work/client" && find . -type f)
[ "$files" = "./$libdir/libhocket_client.so.1" ] || fail "the component client has $files"

"$cmake" --install "$build" --prefix "$prefix" >/dev/null
"$prefix/bin/hocket" --version >/dev/null || fail "the program does not start"
# `hocket torch` finds the package and the library that were installed with it.
torch=$(env -u HOCKET_CLIENT_LIBRARY "$prefix/bin/hocket" torch -- env)
for variable in "HOCKET_CLIENT_LIBRARY=$prefix/$libdir/libhocket_client.so.1" \
  "PYTHONPATH=$prefix/share/hocket/python/hocket/torch/autorun"; do
  case $torch in
    *"$variable"*) ;;
    *) fail "hocket torch does not set $variable" ;;
  esac
done
unit=$prefix/lib/systemd/system/hocket.service
grep -q "^ExecStart=$prefix/bin/hocket serve " "$unit" || fail "the unit starts another program"

cp -r "$sources/examples/installed" "$work/project"
# No other hocket is found, and none of the sources.
"$cmake" -S "$work/project" -B "$work/made" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >/dev/null
grep -q "^hocket_DIR:PATH=$prefix/$libdir/cmake/hocket$" "$work/made/CMakeCache.txt" ||
  fail "another hocket was found"
"$cmake" --build "$work/made" >"$work/log" || { cat "$work/log" >&2; fail "it does not build"; }
says "$work/made/on_core" "2 ranks agree: 2.0"
unset HOCKET_STORE HOCKET_DAEMON HOCKET_CONFIG || true
export XDG_CACHE_HOME="$work/cache" XDG_STATE_HOME="$work/state"
says "$work/made/on_client" "configuration from default"
says "$work/made/on_client_c" "configuration from default"

# A version or component that cannot be had is refused.
for wanted in '9.0 REQUIRED' 'REQUIRED COMPONENTS nothing'; do
  mkdir -p "$work/refused"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(p)\nfind_package(hocket %s)\n' "$wanted" \
    >"$work/refused/CMakeLists.txt"
  if "$cmake" -S "$work/refused" -B "$work/refused/made" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    >/dev/null 2>&1; then
    fail "find_package(hocket $wanted) finds something"
  fi
done

export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
# shellcheck disable=SC2046 # lists of words
"$cc" "$work/project/client.c" -o "$work/by_pkg_config" $(pkg-config --cflags --libs hocket-client)
LD_LIBRARY_PATH="$prefix/$libdir" says "$work/by_pkg_config" "configuration from default"
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$work/project/core.cc" -o "$work/core_by_pkg_config" \
  $(pkg-config --cflags --libs hocket-core)
says "$work/core_by_pkg_config" "2 ranks agree: 2.0"
