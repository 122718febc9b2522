#!/usr/bin/env bash
# Instructions per scored pair of each method on the AVX2 path, counted by callgrind, against tests/cost_bounds.tsv: a cost that
# no noise of the machine can hide or fake. The call as a whole counts, all stages; inputs and planning do not.
#
#   tests/cost_check.sh ATTNSCALE            compares; fails when a count is above its bound
#   tests/cost_check.sh ATTNSCALE --write    counts again and writes the bounds, MARGIN above the counts
#
# The counts do not change from run to run; the margin leaves room for other compilers (the file says which one counted).
set -euo pipefail
attnscale=$1
bounds=$(dirname "$0")/cost_bounds.tsv
margin=${MARGIN:-1.15}
fail() { printf 'cost check: %s\n' "$*" >&2; exit 1; }

command -v valgrind >/dev/null || fail "valgrind is missing: apt-get install valgrind"
"$attnscale" --version | grep -q 'SIMD targets.*avx2' || { echo "cost check: left out, this CPU has no AVX2"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "instructions pairs" of one call
count() {
  local method=$1 problem=$2 out=$work/$3
  valgrind --tool=callgrind --toggle-collect='attnscale::Executor::run(*' --callgrind-out-file="$out" \
    "$attnscale" probe "$problem" "$method" 1 avx2 >"$out.pairs" 2>"$out.log" || { cat "$out.log" >&2; return 1; }
  printf '%s %s\n' "$(awk '/^summary:/ { print $2 }' "$out")" "$(awk '{ print $2 }' "$out.pairs")"
}

# One file of results per line of the bounds, $(nproc) at a time.
number=0
while IFS=$'\t' read -r method problem _; do
  [[ $method == \#* ]] && continue
  number=$((number + 1))
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
  { count "$method" "$problem" "$number" >"$work/$number.result" || true; } &
done <"$bounds"
wait

number=0
over=0
while IFS=$'\t' read -r method problem _ bound; do
  if [[ $method == \#* ]]; then
    printf '%s\n' "$method" >>"$work/new.tsv"
    continue
  fi
  number=$((number + 1))
  read -r instructions pairs <"$work/$number.result" || fail "$method at $problem could not be counted"
  line=$(awk -v i="$instructions" -v p="$pairs" -v m="$margin" -v b="$bound" 'BEGIN {
    if (!(i > 0 && p > 0)) exit 1
    printf "%.2f\t%.2f\t%s", i / p, m * i / p, (i / p > b) ? "over" : (i / p < b / (m * m)) ? "under" : "" }') ||
    fail "$method at $problem counted nothing"
  IFS=$'\t' read -r got new verdict <<<"$line"
  printf '%s\t%s\t%s\t%s\n' "$method" "$problem" "$got" "$new" >>"$work/new.tsv"
  printf '%9.2f per pair, bound %9s  %s  %s%s\n' "$got" "$bound" "$method" "$problem" \
    "$([ "$verdict" != under ] || echo '  (far below: write new bounds)')"
  [ "$verdict" != over ] || over=$((over + 1))
done <"$bounds"

if [ "${2:-}" = --write ]; then
  sed -i "s/^# Counted with .*/# Counted with $("$attnscale" --version | sed -n 's/^compiler: //p'), release preset; bounds are $margin times the counts./" "$work/new.tsv"
  cp "$work/new.tsv" "$bounds"
  exit 0
fi
[ "$over" -eq 0 ] || fail "$over counts are above their bounds (tests/cost_bounds.tsv)"
