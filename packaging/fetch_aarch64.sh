#!/usr/bin/env bash
# Fetches what a program for Linux on aarch64 needs to run here on Mesa's software Vulkan, by qemu-aarch64-static: the distribution's own
# packages for arm64 (lavapipe, the loader, the C and C++ libraries), unpacked in a folder. Nothing is installed, and root is not needed.
#
# usage: packaging/fetch_aarch64.sh [DIR]       (build/cross-aarch64-root)
#        build/cross-aarch64-root/run build/cross-aarch64/bin/run_executable layer.tccx vulkan:0
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
out=${1:-$root/build/cross-aarch64-root}
die() { echo "fetch_aarch64: $*" >&2; exit 1; }
[ ! -x "$out/run" ] || exit 0  # it is there
command -v apt-get >/dev/null || die "no apt-get here"
work=$(mktemp -d "${TMPDIR:-/tmp}/tcc-aarch64.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/lists/partial" "$work/archives/partial"
. /etc/os-release
keys=/usr/share/keyrings/$ID-archive-keyring.gpg
[ -e "$keys" ] || die "no $keys"
archive=$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
  awk '$2 == "main" && $1 !~ /security/ {print $1; exit}')
[ -n "$archive" ] || die "apt has no sources"
echo "deb [arch=arm64 signed-by=$keys] $archive $VERSION_CODENAME main" >"$work/sources.list"
apt() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::Etc::sourcelist=$work/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State::lists=$work/lists" \
    -o Dir::State::status=/dev/null -o "Dir::Cache=$work" -o "Dir::Cache::archives=$work/archives" -o APT::Sandbox::User=root \
    -o APT::Install-Recommends=0 -o Debug::NoLocking=1 -o Acquire::Retries=2 -o Acquire::http::Timeout=30 \
    -o Acquire::https::Timeout=30 "$@"
}
apt update || die "the archive has no packages for arm64"
apt install --download-only -y mesa-vulkan-drivers libvulkan1 libstdc++6 >/dev/null || die "downloading failed"
rm -rf "$out"
mkdir -p "$out"
stage=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work" "$stage"' EXIT
chmod 755 "$stage"
for deb in "$work"/archives/*.deb; do dpkg-deb -x "$deb" "$stage"; done
# Drivers of GPUs, programs and documents are not needed.
find "$stage/usr/lib/aarch64-linux-gnu" -maxdepth 1 \( -name 'libvulkan_*.so' -o -name 'libVkLayer_*' \) ! -name libvulkan_lvp.so -delete
rm -rf "$stage"/usr/{bin,sbin,games,share} "$stage"/{etc,var,bin,sbin}
[ -e "$stage/usr/lib/aarch64-linux-gnu/libvulkan_lvp.so" ] || die "the package has no lavapipe"
# A relative path is taken from the folder of this file.
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "./usr/lib/aarch64-linux-gnu/libvulkan_lvp.so", "api_version": "1.3.0"}}\n' \
  >"$stage/lvp.json"
cat >"$stage/run" <<'RUN'
#!/usr/bin/env bash
# Runs a program for aarch64: run PROGRAM ARGS...
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
export VK_DRIVER_FILES=$here/lvp.json VK_ICD_FILENAMES=$here/lvp.json
exec qemu-aarch64-static -L "$here" -E "LD_LIBRARY_PATH=$here/usr/lib/aarch64-linux-gnu${TCC_CROSS_LIBRARIES:+:$TCC_CROSS_LIBRARIES}" "$@"
RUN
chmod +x "$stage/run"
rm -rf "$out"
mv "$stage" "$out"
