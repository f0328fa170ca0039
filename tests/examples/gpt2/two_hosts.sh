#!/bin/sh
# Runs PROGRAM ARGUMENTS… as four ranks on two hosts, which are network namespaces joined by a veth
# pair: ranks 0 and 1 on one, 2 and 3 on the other. Prints rank 0's output; exits with the status of
# the first rank that fails. Without root it creates the namespaces inside a user namespace. Exits
# 77, with the reason, if they cannot be created.
#
#   two_hosts.sh PROGRAM ARGUMENTS…
#
# With HOCKET_TEST_RATE ("200mbit") the kernel shapes the link between the hosts with tbf.
set -eu
unset GLOO_SOCKET_IFNAME || true
if [ "$(id -u)" != 0 ] && unshare --user --map-root-user --mount --net true 2>/dev/null; then
  exec unshare --user --map-root-user --mount --net \
    sh -c 'mount -t tmpfs none /run && exec "$@"' sh sh "$0" "$@"
fi
a=hocket-a$$ b=hocket-b$$ va=hka$$ vb=hkb$$
work=$(mktemp -d)
cleanup() {
  ip netns del "$a" 2>/dev/null || true
  ip netns del "$b" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

skip() {
  echo "network namespaces cannot be made: $1" >&2
  exit 77
}
[ "$(id -u)" = 0 ] || skip "it needs root, or user namespaces"
command -v ip >/dev/null || skip "ip (package iproute2) is missing"
{ ip netns add "$a" && ip netns add "$b" &&
  ip link add "$va" netns "$a" type veth peer name "$vb" netns "$b"; } 2>"$work/error" ||
  skip "$(cat "$work/error")"
ip -n "$a" addr add 192.0.2.1/30 dev "$va"
ip -n "$b" addr add 192.0.2.2/30 dev "$vb"
for host in "$a" "$b"; do
  ip -n "$host" link set lo up
done
ip -n "$a" link set "$va" up
ip -n "$b" link set "$vb" up
if [ -n "${HOCKET_TEST_RATE:-}" ]; then
  tc -n "$a" qdisc add dev "$va" root tbf rate "$HOCKET_TEST_RATE" burst 256kb latency 50ms
  tc -n "$b" qdisc add dev "$vb" root tbf rate "$HOCKET_TEST_RATE" burst 256kb latency 50ms
fi

export MASTER_ADDR=192.0.2.1 MASTER_PORT=29600 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2
start() { # HOST RANK PROGRAM ARGUMENTS…
  host=$1 rank=$2
  shift 2
  RANK=$rank LOCAL_RANK=$((rank % 2)) ip netns exec "$host" "$@" \
    >"$work/out$rank" 2>"$work/err$rank" &
  pids="${pids:-} $!"
}
start "$a" 0 "$@"
start "$a" 1 "$@"
start "$b" 2 "$@"
start "$b" 3 "$@"
status=0
for pid in $pids; do
  wait "$pid" || { ended=$?; [ "$status" != 0 ] || status=$ended; }
done
cat "$work/out0"
cat "$work"/err? >&2
exit "$status"
