#!/bin/sh
# Makes the wheel of what is built:
#
#   wheel_is_made.sh SOURCES FOLDER        leaves it in FOLDER
#
# Exits 77, with the reason, where what makes wheels cannot be had.
set -eu

sources=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
# The packages of Python come from an index, which a machine may not reach.
if ! "$sources/scripts/wheel" --tools >"$folder/log" 2>&1; then
  cat "$folder/log" >&2
  echo "what makes the wheel cannot be installed" >&2
  exit 77
fi
if ! "$sources/scripts/wheel" --no-build "$folder" >"$folder/log" 2>&1; then
  cat "$folder/log" >&2
  exit 1
fi
tail -n 1 "$folder/log"
set -- "$folder"/hocket-*.whl
if [ "$(stat --format %s "$1")" -gt 25000000 ]; then
  echo "the wheel has more than 25 MB" >&2
  exit 1
fi
