#!/usr/bin/env bash
# Runs a program through the AMD driver beside this file, for a family of GPUs that need not be there.
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
[ $# -ge 2 ] || { echo "usage: run navi21|navi31|navi33 PROGRAM ARGS..." >&2; exit 2; }
export RADV_FORCE_FAMILY=$1 VK_DRIVER_FILES=$here/radv.json
export LD_LIBRARY_PATH=$here/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
shift
exec "$@"
