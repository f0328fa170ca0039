#!/bin/sh
# Checks what can be checked of the container's recipe without an engine: that each instruction is
# one, that what it copies is there, and that this suffices to configure the build.
# fresh_system.sh runs the daemon as the last stage does.
#
#   container_recipe.sh SOURCES CMAKE
set -eu

sources=$1 cmake=$2
recipe=$sources/packaging/container/Containerfile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Each instruction on a line.
sed -e '/^#/d' -e ':join' -e '/\\$/{N' -e 's/\\\n */ /' -e 'b join' -e '}' "$recipe" |
  sed '/^$/d' >"$work/lines"
if grep -vE '^(FROM|WORKDIR|RUN|COPY|USER|ENV|VOLUME|EXPOSE|CMD|HEALTHCHECK) ' "$work/lines"; then
  echo "container_recipe: these are no instructions" >&2
  exit 1
fi
sed -n 's/^COPY //p' "$work/lines" >"$work/copies"
mkdir "$work/context"
while read -r line; do
  # shellcheck disable=SC2086 # a list of words, the last of which is the target
  set -- $line
  while [ $# -gt 1 ]; do
    mkdir -p "$work/context/$(dirname -- "$1")"
    cp -r "$sources/$1" "$work/context/$1"
    shift
  done
done <"$work/copies"

configure=$(sed -n 's/^RUN \(cmake --preset [^&]*\) && .*/\1/p' "$work/lines")
[ -n "$configure" ] || { echo "container_recipe: it configures nothing" >&2 && exit 1; }
cd "$work/context"
# shellcheck disable=SC2086
set -- $configure
shift
"$cmake" "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2 && exit 1; }
# Every source is there: CMake looks for them when it generates.
[ -f build/release/build.ninja ]
# No rule of the build needs a file that was not copied.
files=$(grep -o "$work/context/[a-z]*/[a-zA-Z0-9_./-]*" build/release/build.ninja | sort -u)
for file in $files; do
  case $file in
    "$work"/context/build/*) ;;
    *) [ -e "$file" ] || { echo "container_recipe: it does not copy $file" >&2 && exit 1; } ;;
  esac
done
