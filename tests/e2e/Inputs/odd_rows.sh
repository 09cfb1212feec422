# usage: odd_rows.sh PRECISION SOURCE FAKE_CUDA...
# Trains odd.tsr on a CPU and on an emulated GPU, and compares the losses.
precision=$1 source=$2
shift 2
set -e
tessera compile odd.tsr --precision="$precision" -o "$precision-cpu"
"$@" tessera compile odd.tsr --precision="$precision" --target=cuda:sm_90a -o "$precision-gpu" \
  --dump-dir="$precision-dumps"
"./$precision-cpu" train --data text.txt --steps 3 --checkpoint-dir "$precision-on-cpu" --metrics cpu.jsonl --quiet
"$@" "./$precision-gpu" train --data text.txt --steps 3 --checkpoint-dir "$precision-on-gpu" --metrics gpu.jsonl --quiet
python3 "$source/tests/e2e/Inputs/metrics_agree.py" cpu.jsonl gpu.jsonl 1e-3
