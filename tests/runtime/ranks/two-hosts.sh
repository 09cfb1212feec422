#!/bin/bash
# usage: two-hosts.sh [--one-core] RATE RANKS COMMAND...: starts a command as RANKS ranks on each of two hosts, with
# torchrun's variables. The hosts are network namespaces, joined by a cable of that rate in each direction (as tc writes
# it: 1gbit), which is slowed down where a message enters it. With --one-core the ranks of a host share a processor.
# The exit status is that of the first rank that fails, or 77 if there is no root, ip or tc. Nothing is left behind.
set -u
skip() {
  echo "skipped: $1" >&2
  exit 77
}
one_core=
if [ "${1-}" = --one-core ]; then
  one_core=yes
  shift
fi
[ $# -ge 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
rate=$1 ranks=$2
shift 2
export PATH="$PATH:/usr/sbin:/sbin"
[ "$(id -u)" -eq 0 ] || skip "two hosts are network namespaces, which root makes"
for tool in ip tc taskset; do
  command -v "$tool" > /dev/null || skip "two hosts need $tool (Debian: iproute2, util-linux)"
done

hosts=("tessera-$$-0" "tessera-$$-1")
processes=()
clean_up() {
  for process in "${processes[@]}"; do kill -KILL "$process" 2> /dev/null; done
  for host in "${hosts[@]}"; do ip netns delete "$host" 2> /dev/null; done
}
trap clean_up EXIT
trap 'exit 143' TERM INT

for host in "${hosts[@]}"; do ip netns add "$host" || skip "network namespaces cannot be made here"; done
ip link add cable netns "${hosts[0]}" type veth peer name cable netns "${hosts[1]}" || skip "no veth devices here"
for i in 0 1; do
  within() { ip netns exec "${hosts[i]}" "$@"; }
  within ip address add "10.77.0.$((i + 1))/24" dev cable
  within ip link set lo up
  within ip link set cable up
  # Buckets hold what a timer may miss.
  within tc qdisc add dev cable root tbf rate "$rate" burst 64kb latency 50ms || skip "tc cannot limit a rate here"
done

# OpenMP's variables are for programs, but `nproc` follows them, too.
processors=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)

export WORLD_SIZE=$((2 * ranks)) LOCAL_WORLD_SIZE=$ranks MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=$$
for ((rank = 0; rank < WORLD_SIZE; ++rank)); do
  host=$((rank / ranks))
  bound=()
  [ -z "$one_core" ] || bound=(taskset -c "$((host % processors))")
  RANK=$rank LOCAL_RANK=$((rank % ranks)) ip netns exec "${hosts[host]}" "${bound[@]}" "$@" &
  processes+=($!)
done
status=0
for ((ended = 0; ended < WORLD_SIZE && status == 0; ++ended)); do
  wait -n
  status=$?
done
if ((status != 0)); then # the others have 5 s to end
  for ((i = 0; i < 50; ++i)); do
    [ -z "$(jobs -pr)" ] && break
    sleep 0.1
  done
fi
exit $status
