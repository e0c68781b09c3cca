#!/usr/bin/env bash
# Fetches Mesa's AMD driver (RADV) of Debian 12's backports into a folder: its compiler works for GPUs that are not there, so that kernels are
# compiled for RDNA 2 and 3 without one (docs/devices.md). Nothing is installed, and root is not needed.
#
# usage: packaging/fetch_radv.sh [DIR]       (build/radv)
#        build/radv/run navi31 build/dev/bin/tcc-tune configs/models/mlp.yaml --device vulkan:0
#
# Families: navi21 (RDNA 2), navi31 and navi33 (RDNA 3).
set -euo pipefail
version=25.0.7-2~bpo12+1
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
out=${1:-$root/build/radv}
[ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ] || { echo "fetch_radv: only on Debian 12" >&2; exit 1; }
if [ -x "$out/run" ] && [ "$(cat "$out/version" 2> /dev/null)" = "$version" ]; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# The mirror that this system uses.
mirror=$(awk '/^URIs:/ {print $2; exit} /^deb / {for (i = 2; i <= NF; ++i) if ($i ~ /^https?:/) {print $i; exit}}' \
  /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2> /dev/null)
[ -n "$mirror" ] || { echo "fetch_radv: no mirror in /etc/apt" >&2; exit 1; }
mkdir -p "$work/lists/partial" "$work/archives/partial"
for suite in bookworm bookworm-backports; do
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
done > "$work/sources.list"
apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/lists" \
    -o Dir::State::status=/dev/null -o Dir::Cache::archives="$work/archives" -o APT::Sandbox::User=root -o APT::Install-Recommends=0 \
    -o Debug::NoLocking=1 "$@"
}
apt update
apt install --download-only -y -t bookworm-backports "mesa-vulkan-drivers=$version" libvulkan1 > /dev/null
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
for deb in "$work"/archives/*.deb; do
  case $(basename "$deb") in libc6_* | libstdc++6_* | libgcc-s1_* | gcc-12-base_*) continue ;; esac
  dpkg -x "$deb" "$out/files"
done
rm -rf "$out"/files/usr/{bin,sbin} "$out"/files/usr/share/{doc,locale,man}
libraries=$out/files/usr/lib/$(uname -m)-linux-gnu
sed "s#\"library_path\": *\"[^\"]*\"#\"library_path\": \"$libraries/libvulkan_radeon.so\"#" \
  "$out"/files/usr/share/vulkan/icd.d/radeon_icd*.json > "$out/radv.json"
cat > "$out/run" <<'RUN'
#!/usr/bin/env bash
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
[ $# -ge 2 ] || { echo "usage: run navi21|navi31|navi33 PROGRAM ARGS..." >&2; exit 2; }
export RADV_FORCE_FAMILY=$1 VK_DRIVER_FILES=$here/radv.json
export LD_LIBRARY_PATH=$here/files/usr/lib/$(uname -m)-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
shift
exec "$@"
RUN
chmod +x "$out/run"
echo "$version" > "$out/version"
