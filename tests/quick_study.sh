#!/usr/bin/env bash
# Checks a finished quick study: the schema is the documented one, every row has a status, exact counts hold, every bound holds.
# Usage: quick_study.sh ATTNSCALE RUN
set -euo pipefail
attnscale=$1
run=$2
fail() { printf 'quick study: %s\n' "$*" >&2; exit 1; }

for file in summary.csv samples.csv stages.csv fits.csv run.json journal.jsonl; do
  [ -s "$run/$file" ] || fail "$file is missing or empty"
done

# Columns by name: a small reader for quoted fields, so that the check needs nothing installed.
column() {
  awk -v wanted="$1" '
    function split_row(line, out,   n, field, quoted, i, c) {
      n = 0; field = ""; quoted = 0
      for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\"") { quoted = !quoted } else if (c == "," && !quoted) { out[++n] = field; field = "" } else { field = field c }
      }
      out[++n] = field
      return n
    }
    NR == 1 { n = split_row($0, head); for (i = 1; i <= n; i++) if (head[i] == wanted) at = i; if (!at) exit 3; next }
    { split_row($0, row); print row[at] }' "$run/summary.csv"
}

columns=$("$attnscale" list fields --names | paste -sd,)
[ "$(head -n 1 "$run/summary.csv")" = "$columns" ] || fail "the header is not the list of fields"
column status | grep -vxE 'ok|unsupported' && fail "a row is neither ok nor unsupported"
column bound_held | grep -qx false && fail "a certified bound does not hold"
paste -d' ' <(column status) <(column impl_ratio) | awk '$1 == "ok" && !($2 <= 1) { exit 1 }' || fail "an implementation error is above its tolerance"
paste -d' ' <(column name) <(column batch) <(column heads) <(column queries) <(column keys) <(column mask) <(column visible_pairs) |
  awk '$1 == "exact.streaming" && $6 == "none" && $7 != $2 * $3 * $4 * $5 { exit 1 }' || fail "exact attention does not count n^2 pairs"
printf 'quick study: %d rows hold\n' "$(column status | wc -l)"
