#!/usr/bin/env bash
# The numpy worker through the program: its rows must be verified. Skipped where no Python has numpy.
#   tests/numpy_worker.sh PROGRAM RUN_FOLDER
set -euo pipefail
program=$1 run=$2
cd "$(dirname "$0")/.."
for python in python3 /usr/bin/python3 none; do
  [ "$python" = none ] || ! "$python" -c 'import numpy' 2>/dev/null || break
done
[ "$python" != none ] || { echo "numpy worker: skipped, no python3 has numpy"; exit 0; }
rm -rf "$run"
"$program" run --worker "$python peers/python/numpy_exact.py" --methods numpy.exact --n 65 --heads 4 --kv-heads 2 --causal \
  --rounds 2 --out "$run" --quiet
grep -c '^[^,]*,[^,]*,[^,]*,numpy.exact,numpy.exact,exact,ok,' "$run/summary.csv" >/dev/null ||
  { echo "numpy worker: no verified row in $run/summary.csv"; exit 1; }
echo "numpy worker: ok"
