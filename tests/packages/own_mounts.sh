# Sourced first by a test that mounts: restarts it with mounts of its own, which end with it. Exits
# 77, with the reason, where that cannot be had. It needs root: packages have files of other users.

if [ -z "${HOCKET_OWN_MOUNTS:-}" ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "needs root" >&2
    exit 77
  fi
  if ! unshare --mount --net true; then
    echo "namespaces for mounts and networks cannot be made" >&2
    exit 77
  fi
  HOCKET_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi
