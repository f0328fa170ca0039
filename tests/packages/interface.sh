#!/bin/sh
# Compares the client library's interface with the one that programs were built for:
#
#   interface.sh SOURCES LIBRARY
#
# Exits 77, with the reason, where abidiff is not installed.
set -eu

sources=$1 library=$2
if ! command -v abidiff >/dev/null; then
  echo "abidiff is not installed" >&2
  exit 77
fi
stored=$sources/packaging/abi/libhocket_client.abi
if ! abidiff "$stored" "$library"; then
  cat >&2 <<END
The interface is not the stored one. If only functions, or members behind the last of a structure
that begins with its size, were added, programs go on as they are: renew the description,

  packaging/abi/describe $library > packaging/abi/libhocket_client.abi

Anything else breaks programs and needs a new soname (docs/HACKING.md, "The client library's
interface").
END
  exit 1
fi

# The comparison sees a structure that has grown and a function that has gone.
changed=$(mktemp)
trap 'rm -f "$changed"' EXIT
sed '/class-decl name="hocket_schedule_part"/s/size-in-bits="[0-9]*"/size-in-bits="64"/' \
  "$stored" >"$changed"
if abidiff "$changed" "$stored" >/dev/null; then
  echo "abidiff does not see that a structure has grown" >&2
  exit 1
fi
sed 's/hocket_client_report/hocket_client_gone/g' "$stored" >"$changed"
if abidiff "$changed" "$stored" >/dev/null; then
  echo "abidiff does not see that a function has gone" >&2
  exit 1
fi
