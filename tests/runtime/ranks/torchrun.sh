#!/bin/bash
# usage: torchrun.sh RANKS COMMAND...: starts a command as ranks on this host, with torchrun's variables, as torchrun
# does. The exit status is that of the first rank that fails; the others then have 5 s before they are killed.
ranks=$1
shift
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
export WORLD_SIZE=$ranks LOCAL_WORLD_SIZE=$ranks MASTER_ADDR=localhost MASTER_PORT=$((port - 1)) TORCHELASTIC_RUN_ID=$$
processes=()
for ((rank = 0; rank < ranks; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank "$@" &
  processes+=($!)
done
trap 'kill "${processes[@]}"' TERM INT
status=0
for ((ended = 0; ended < ranks && status == 0; ++ended)); do
  wait -n
  status=$?
done
if ((status != 0)); then
  for ((i = 0; i < 50; ++i)); do
    [ -z "$(jobs -pr)" ] && break
    sleep 0.1
  done
  kill -KILL "${processes[@]}" 2> /dev/null
  wait
fi
exit $status
