#!/usr/bin/env bash
# Runs a test on the compiler of AMD's driver in build/newer/radv, for a family of GPUs that is not there (docs/decisions/050-compiling-drivers.md).
# Exits with 77, which ctest shows as skipped, where it cannot be used, and says why.
# usage: under_radv.sh FAMILY PROGRAM ARGS...      FAMILY: navi21, navi31
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
skip() { echo "skipped: $*"; exit 77; }
[ -x "$root/build/newer/radv/run" ] ||
  skip "no driver in build/newer/radv: $(tail -1 "$root/build/newer/radv.failed" 2>/dev/null || echo './dev test fetches it')"
info=$("$root/build/newer/radv/run" "$1" "$(dirname "$2")/tcc-info" 2>&1) || { echo "tcc-info does not run under it: $info"; exit 1; }
grep -q 'compiles     kernels, and runs none' <<<"$info" || { echo "this driver does not compile alone: $info"; exit 1; }
exec "$root/build/newer/radv/run" "$@"
