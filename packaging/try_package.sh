#!/usr/bin/env bash
# Runs as root in a bare Debian 12 or Ubuntu 24.04, beside the archive, the package and tests/package/consumer: uses
# the archive, then the package, as somebody would who has just got them.
set -euo pipefail
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive HOME=/root
say() { printf '\n-- %s\n' "$*"; }

use() {  # FOLDER of the programs, of the data
  "$1/tcc-info"
  "$1/tcc-run" "$2/configs/models/mlp.yaml" --check
  "$1/tcc-tune" "$2/configs/models/mlp.yaml" --budget 5 --output tuned
  "$1/tcc-run" "$2/configs/models/mlp.yaml" --tuning tuned --bench 5
  "$1/tcc-compile" "$2/configs/models/mlp.yaml" --target vulkan:amd-rdna -o compiled
  "$1/tcc-compile" "$2/configs/models/mlp.yaml" --dtype f16 --target vulkan:nvidia -o compiled
  grep -q gemm_coopmat compiled/manifest.json  # the compiler that was packaged knows cooperative matrices
  rm -rf tuned compiled
}

apt-get -qq update
say "the archive, without a driver"
rm -rf unpacked && mkdir unpacked
tar -C unpacked --strip-components 1 -xzf ./*.tar.gz
unpacked/bin/tcc-info
unpacked/bin/tcc-run unpacked/share/tcc/configs/models/mlp.yaml --device reference

say "the archive, with lavapipe"
apt-get -qq install -y --no-install-recommends libvulkan1 mesa-vulkan-drivers >/dev/null
use unpacked/bin unpacked/share/tcc

say "the package, beside the Tiny C Compiler's"
rm -rf unpacked
apt-get -qq install -y --no-install-recommends tcc libtcc-dev ./*.deb man-db >/dev/null
use /usr/bin /usr/share/tcc
tcc -v
man -w tcc-run tcc-tune tcc-compile tcc-info

say "find_package(tcc)"
apt-get -qq install -y --no-install-recommends g++ cmake make pkg-config >/dev/null
rm -rf build && cmake -S consumer -B build -D EXAMPLES=/usr/share/tcc/examples >/dev/null
cmake --build build
ctest --test-dir build --output-on-failure

say "pkg-config"
g++ -std=c++20 /usr/share/tcc/examples/embed.cpp -o embed $(pkg-config --cflags --libs tcc)
./embed /usr/share/tcc/examples/demo.yaml
gcc -std=c11 /usr/share/tcc/examples/embed.c -o embed-c $(pkg-config --cflags --libs tcc)
./embed-c /usr/share/tcc/examples/demo.yaml

say "removed again"
apt-get -qq remove -y tcc-graph-compiler >/dev/null
[ ! -e /usr/bin/tcc-run ] && [ ! -e /usr/lib/libtcc-core.so ] && [ ! -e /usr/share/tcc ]
tcc -v
echo "all fine"
