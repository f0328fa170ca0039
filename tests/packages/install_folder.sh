#!/bin/sh
# Checks that libraries are installed in the folder that was given, as pip gives one, and that it
# stays one below the prefix:
#
#   install_folder.sh SOURCES CMAKE
set -eu

sources=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(folders LANGUAGES C)
include(${SOURCES}/cmake/HocketInstallFolders.cmake)
file(WRITE ${CMAKE_BINARY_DIR}/folder ${CMAKE_INSTALL_LIBDIR})
END
# Twice: what is in the cache stays, too.
for _ in 1 2; do
  "$cmake" -S "$work" -B "$work/build" -DSOURCES="$sources" -DCMAKE_INSTALL_LIBDIR=lib >/dev/null
  folder=$(cat "$work/build/folder")
  if [ "$folder" != lib ]; then
    echo "install_folder: libraries go to $folder, not to lib" >&2
    exit 1
  fi
done
