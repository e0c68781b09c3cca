#!/usr/bin/env bash
# Runs a program of the runtime that ./dev cross built for another system, by an emulator, on the software Vulkan device.
# Exits with 77, which ctest shows as skipped, where it cannot, and says why.
# usage: run.sh aarch64|windows PROGRAM ARGS...       PROGRAM: run_executable, runtime_checks; true: only looks whether it could
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
system=$1 program=$2
shift 2
skip() { echo "skipped: $*"; exit 77; }
bin=$root/build/cross-$system/bin
[ "$program" = true ] || [ -e "$bin/$program" ] || [ -e "$bin/$program.exe" ] || skip "no $bin/$program: ./dev cross $system builds it"
[ -d "$bin" ] || skip "no $bin: ./dev cross $system builds it"

aarch64() {
  command -v qemu-aarch64-static >/dev/null || skip "no qemu-aarch64-static (Debian: qemu-user-static)"
  local files=$root/build/cross-aarch64-root
  [ -x "$files/run" ] || skip "no libraries for aarch64 in $files: ./dev cross aarch64 fetches them"
  [ "$program" != true ] || exit 0
  TCC_CROSS_LIBRARIES=$root/build/cross-aarch64/lib exec "$files/run" "$bin/$program" "$@"
}

windows() {
  local wine
  wine=$(command -v wine64 || command -v wine) || wine=/usr/lib/wine/wine64
  [ -x "$wine" ] || skip "no wine64"
  command -v Xvfb >/dev/null || skip "no Xvfb: Wine's Vulkan needs a display (Debian: xvfb, xauth)"
  [ "$program" != true ] || exit 0
  export WINEPREFIX=$root/build/cross-windows-prefix WINEDEBUG=${WINEDEBUG:--all} WINEDLLOVERRIDES="mscoree,mshtml="
  # Paths of this system lie on Wine's drive Z.
  local arguments=() argument
  for argument in "$@"; do
    [[ $argument = /* ]] && argument=Z:$argument
    arguments+=("$argument")
  done
  exec xvfb-run -a "$wine" "$bin/$program.exe" "${arguments[@]}"
}

case $system in
  aarch64 | windows) "$system" "$@" ;;
  *) echo "run.sh: no system '$system': aarch64 or windows" >&2; exit 2 ;;
esac
