#!/usr/bin/env bash
# Runs a program that was built here through the C library and the Vulkan driver beside this file: the driver needs a newer
# C library than the system's. What the folder lacks comes from the system. Worker processes of the tuner are run likewise.
# usage: run PROGRAM ARGS...
folder=$(dirname "$(readlink -f "$0")")
libraries=$(readlink -f "$folder/lib")
if [ "$(basename "$0")" = tcc-worker ]; then
  program=$TCC_LAVAPIPE_WORKER
else
  program=$(command -v "$1") || { echo "run: no program $1" >&2; exit 2; }
  program=$(readlink -f "$program")
  shift
  export TCC_LAVAPIPE_WORKER=${TCC_WORKER:-$(dirname "$program")/tcc-worker} TCC_WORKER=$folder/tcc-worker
fi
own=$(readelf -d "$program" 2>/dev/null | sed -n 's/.*R.*PATH.*\[\(.*\)\]/\1/p' | sed "s#\$ORIGIN#$(dirname "$program")#g")
export VK_DRIVER_FILES=$folder/lvp.json VK_LOADER_LAYERS_DISABLE='~all~'
loader=$(find "$libraries" "$folder/usr" -maxdepth 2 -name 'ld-linux*.so.*' | head -1)
exec "$loader" --library-path "$libraries:${own:+$own:}/usr/lib/$(basename "$libraries")" "$program" "$@"
