#!/usr/bin/env bash
# Fetches packages of a newer suite than the system's from the distribution's archive, unpacks them in a folder and
# changes nothing of the system. No root needed.
#
#   fetch_newer.sh compiler DIR    shaderc, glslang and SPIRV-Tools as archives to link (include, lib, licences): their
#                                  language has cooperative matrices and bfloat16 (docs/decisions/051-newer-compiler.md)
#   fetch_newer.sh lavapipe DIR    Mesa's software Vulkan with cooperative matrices, and what runs a program through it:
#                                  DIR/run PROGRAM ARGS... (docs/decisions/052-newer-lavapipe.md)
#   fetch_newer.sh radv DIR        Mesa's AMD driver, of Debian 12's backports: its compiler works for GPUs that are not
#                                  there, RDNA 2 (navi21) and 3 (navi31, navi33): DIR/run navi31 PROGRAM ARGS...
#                                  (docs/decisions/050-compiling-drivers.md)
#
# A folder that has the pinned versions already is left as it is; one that has others is replaced.
#
# The versions that were tested are pinned below. An archive drops a version some time after its successor came; then the
# newest one is taken and a note says so. TCC_NEWER_ARCHIVE names another archive, as one that keeps all versions:
# its address as in apt's sources. TCC_NEWER_SUITE names another suite.
set -euo pipefail
compiler_pins=(libshaderc-dev=2026.4-1 glslang-dev=16.6.0-1 spirv-tools-dev=2026.4~rc2-1 spirv-headers=)
lavapipe_pins=(mesa-vulkan-drivers=26.2.6-1 libvulkan1= libstdc++6= libgcc-s1=)
radv_pins=(mesa-vulkan-drivers=25.0.7-2~bpo12+1 libvulkan1=)

what=${1:?usage: fetch_newer.sh compiler|lavapipe|radv DIR} out=${2:?usage: fetch_newer.sh $1 DIR}
die() { echo "fetch_newer.sh: $*" >&2; exit 1; }
[[ $what = compiler || $what = lavapipe || $what = radv ]] || die "no '$what': compiler, lavapipe or radv"
declare -n pins="${what}_pins"
[ ! -e "$out/pins" ] || [ "$(cat "$out/pins")" != "${pins[*]}" ] || exit 0  # it is there
command -v apt-get >/dev/null || die "no apt-get here"

work=$(mktemp -d "${TMPDIR:-/tmp}/tcc-newer.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/lists/partial" "$work/archives/partial"

# The archive and its key are those of the system's own sources. Packages are taken from the first suite.
system=$(. /etc/os-release && echo "$ID")
case $what-$system in
  radv-debian) suites=(bookworm-backports bookworm) components=main ;;
  *-debian) suites=(sid) components=main ;;
  *-ubuntu) suites=(devel) components="main universe" ;;
  *) die "neither Debian nor Ubuntu" ;;
esac
if [ $what = radv ]; then  # it runs on the system's C library
  [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ] || die "radv is for Debian 12 alone"
else
  suites=("${TCC_NEWER_SUITE:-${suites[0]}}")
fi
suite=${suites[0]}
keys=/usr/share/keyrings/$system-archive-keyring.gpg
[ -e "$keys" ] || die "no $keys"
archive=${TCC_NEWER_ARCHIVE:-$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
  awk '$2 == "main" && $1 !~ /security/ {print $1; exit}')}
[ -n "$archive" ] || die "apt has no sources"
printf "deb [signed-by=$keys] $archive %s $components\n" "${suites[@]}" >"$work/sources.list"
options=(-qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null
         -o "Dir::State::lists=$work/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$work" -o "Dir::Cache::archives=$work/archives"
         -o APT::Sandbox::User=root -o APT::Install-Recommends=0 -o Debug::NoLocking=1
         -o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30)
apt-get "${options[@]}" update || die "the suite $suite cannot be read"

# Turns pins into packages that the suite has now.
wanted=()
resolve() {
  local pin name version now
  for pin in "$@"; do
    name=${pin%%=*} version=${pin#*=}
    now=$(apt-cache "${options[@]}" madison "$name" 2>/dev/null | awk -v v="$version" -F ' *\\| *' '
      {gsub(/ /, "", $1)} NR == 1 {first = $2} $2 == v {found = v} END {print found != "" ? found : first}')
    [ -n "$now" ] || die "the suite $suite has no $name"
    [ -z "$version" ] || [ "$version" = "$now" ] || echo "fetch_newer.sh: $name $version is gone; takes $now" >&2
    wanted+=("$name=$now")
  done
}

fetch_compiler() {
  local from=$work/unpacked name
  mkdir "$work/debs"
  (cd "$work/debs" && apt-get "${options[@]}" download "${wanted[@]}") || die "downloading failed"
  unpack "$work/debs" "$from"
  local libraries
  libraries=$(dirname "$(find "$from/usr/lib" -name libshaderc_combined.a)")
  mkdir -p "$stage/lib" "$stage/licences"
  cp -r "$from/usr/include" "$stage/include"
  for name in shaderc_combined glslang glslang-default-resource-limits SPIRV-Tools-opt SPIRV-Tools; do
    cp "$libraries/lib$name.a" "$stage/lib/"
  done
  for name in libshaderc-dev glslang-dev spirv-tools-dev; do
    cp "$from/usr/share/doc/$name/copyright" "$stage/licences/$name"
  done
}

fetch_lavapipe() {
  apt-get "${options[@]}" install --download-only -y "${wanted[@]}" >/dev/null || die "downloading failed"
  unpack "$work/archives" "$stage"
  local usr=$stage/usr libraries driver
  driver=$(find "$usr/lib" -name libvulkan_lvp.so)
  [ -n "$driver" ] || die "the package has no lavapipe"
  libraries=$(dirname "$driver")
  # Drivers of GPUs, programs and documents are not needed.
  find "$libraries" -maxdepth 1 \( -name 'libvulkan_*.so' -o -name 'libVkLayer_*' \) ! -name libvulkan_lvp.so -delete
  rm -rf "$usr"/{bin,sbin,games} "$usr/share" "$stage"/{etc,var}
  cp "$(dirname "$0")/run_lavapipe.sh" "$stage/run"
  ln -s "${libraries#"$stage/"}" "$stage/lib"
  ln -s run "$stage/tcc-worker"
  # A relative path would be the reader's: the loader takes it from the folder of this file.
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "./lib/libvulkan_lvp.so", "api_version": "1.4.0"}}\n' >"$stage/lvp.json"
}

fetch_radv() {
  apt-get "${options[@]}" install --download-only -y -t "$suite" "${wanted[@]}" >/dev/null || die "downloading failed"
  rm -f "$work"/archives/{libc6,libstdc++6,libgcc-s1,gcc-12-base}_*.deb
  unpack "$work/archives" "$stage"
  local usr=$stage/usr driver
  driver=$(find "$usr/lib" -name libvulkan_radeon.so)
  [ -n "$driver" ] || die "the package has no RADV"
  rm -rf "$usr"/{bin,sbin} "$usr"/share/{doc,locale,man} "$stage"/{etc,var}
  ln -s "$(realpath --relative-to="$stage" "$(dirname "$driver")")" "$stage/libraries"
  sed 's#"library_path": *"[^"]*"#"library_path": "./libraries/libvulkan_radeon.so"#' "$usr"/share/vulkan/icd.d/radeon_icd*.json >"$stage/radv.json"
  cp "$(dirname "$0")/run_radv.sh" "$stage/run"
}

unpack() {  # DEBS FOLDER: prints into $stage/versions what was unpacked
  local deb
  mkdir -p "$2"
  for deb in "$1"/*.deb; do
    dpkg-deb -x "$deb" "$2"
    dpkg-deb -W --showformat='${Package} ${Version}\n' "$deb" >>"$stage/versions"
  done
}

# Whole or not at all.
mkdir -p "$(dirname "$out")"
stage=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work" "$stage"' EXIT
chmod 755 "$stage"
resolve "${pins[@]}"
"fetch_$what"
echo "${pins[*]}" >"$stage/pins"
rm -rf "$out"
mv "$stage" "$out"
