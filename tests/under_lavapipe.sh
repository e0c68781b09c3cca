#!/usr/bin/env bash
# Runs a test on the cooperative matrices of the newer lavapipe in build/newer (docs/decisions/052-newer-lavapipe.md). Exits with 77,
# which ctest shows as skipped, where they cannot be used, and says why. A template that the test is about must have
# been used.
# usage: under_lavapipe.sh TEMPLATE PROGRAM ARGS...      TEMPLATE: gemm_coopmat, or any for none in particular
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
run=$root/build/newer/lavapipe/run
template=$1 program=$2
skip() { echo "skipped: $*"; exit 77; }
if [ ! -x "$run" ]; then
  reason=$(tail -1 "$root/build/newer/lavapipe.failed" 2>/dev/null || true)
  skip "no newer lavapipe in build/newer: ${reason:-./dev test fetches it}"
fi
export TCC_MATRIX_UNITS=coopmat TCC_LOGS=tuning
info=$("$run" "$(dirname "$program")/tcc-info") || { echo "tcc-info does not run under it"; exit 1; }
grep -q '(coopmat)' <<<"$info" || { echo "this lavapipe has no cooperative matrices: $info"; exit 1; }
! grep -E '^ +unused +matrix units:' <<<"$info" || skip "the GLSL compiler knows no cooperative matrices"

log=$(mktemp) && trap 'rm -f "$log"' EXIT
"$run" "${@:2}" >"$log" 2>&1 && code=0 || code=$?
grep -v '^tuning: ' "$log" || true
echo "kernels: $(sed -n 's/^tuning: .* \[\([a-z0-9_]*\)\] .*/\1/p' "$log" | sort | uniq -c | sort -rn | awk '{printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2}')"
[ "$code" = 0 ] || exit "$code"
[ "$template" = any ] || grep -q "^tuning: .* \[$template\] " "$log" || { echo "no kernel is of $template"; exit 1; }
