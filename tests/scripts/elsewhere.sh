#!/bin/sh
# Runs COMMAND… where neither hocket's sources and build nor the CUDA toolkit are, nor the libraries
# that a bundle (scripts/gpu) brings, as on another machine. They are hidden in a mount namespace;
# without root, in a user namespace as well. Exits 77, with the reason, if it cannot be made.
#
#   elsewhere.sh SOURCES BUNDLE COMMAND…
set -eu

if [ -z "${HOCKET_IS_ELSEWHERE:-}" ]; then
  user=
  [ "$(id -u)" = 0 ] || user='--user --map-root-user'
  # shellcheck disable=SC2086 # it is a list of words
  if ! unshare $user --mount true; then
    echo "mount namespaces cannot be made: it needs root, or user namespaces" >&2
    exit 77
  fi
  # shellcheck disable=SC2086
  HOCKET_IS_ELSEWHERE=1 exec unshare $user --mount "$0" "$@"
fi

sources=$1 bundle=$2
shift 2
# A function is read as a whole before it runs, and this file is among what it hides.
hide() {
  for folder in "$sources" /usr/local/cuda*; do
    if [ -d "$folder" ] && [ ! -L "$folder" ]; then
      mount -t tmpfs none "$folder"
    fi
  done
  for library in "$bundle"/lib/*; do
    for folder in /lib /usr/lib /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /usr/local/lib; do
      found=$(readlink -e "$folder/$(basename "$library")" || true)
      if [ -n "$found" ]; then
        mount --bind /dev/null "$found"
      fi
    done
  done
  cd /
  exec "$@"
}
hide "$@"
