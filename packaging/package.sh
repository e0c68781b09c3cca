# Sourced by ./dev: programs, libraries and packages for other machines.

# Prints the folder of the bundle that a shared library goes to. The C++ runtime is a fallback: a GPU driver on the
# other machine may need the newer one of its own system, and a process has room for one.
bundle_place() {
  case $1 in
    libtcc-core.so*|linux-vdso.so.*|ld-linux*|libc.so.*|libm.so.*|libdl.so.*|libpthread.so.*|librt.so.*) ;;
    libstdc++.so.*|libgcc_s.so.*) echo lib/fallback ;;
    *) echo lib ;;
  esac
}

# "NAME PATH" of the shared libraries that the given files load.
shared_libraries() { ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u; }

bundle() {
  local out=${1:-build/bundle} limit_mib=64
  [ ! -e "$out" ] || [ -e "$out/.tcc-bundle" ] || die "$out exists and is no bundle"
  preset=${PRESET:-release}
  setup
  build
  say "bundle ($out)"
  rm -rf "$out" && mkdir -p "$out/bin" "$out/lib/fallback" && touch "$out/.tcc-bundle"

  local tree="build/$preset" file library path place
  cp "$tree"/bin/tcc-* "$tree"/bin/test_* "$out/bin/"
  for file in bench/*.cpp; do  # the benchmark programs
    file=$tree/bin/$(basename "$file" .cpp)
    [ ! -x "$file" ] || cp "$file" "$out/bin/"
  done
  cp -P "$tree"/lib/libtcc-core.so* "$out/lib/"
  shared_libraries "$out"/bin/* "$out/lib/libtcc-core.so" | while read -r library path; do
    place=$(bundle_place "$library")
    [ -z "$place" ] || cp -L "$path" "$out/$place/$library"
  done
  find "$out/bin" "$out/lib" -type f -exec strip {} +
  local system
  system=/usr/lib/$(gcc -print-multiarch)
  patchelf --set-rpath "\$ORIGIN/../lib:$system:\$ORIGIN/../lib/fallback" "$out"/bin/*
  find "$out/lib" -maxdepth 1 -type f -exec patchelf --set-rpath "\$ORIGIN:$system:\$ORIGIN/fallback" {} +

  # The files that programs and tests read, at the places where they lie in the repository.
  for path in configs examples/*.yaml examples/kernels bench/*.py tests/*/; do
    case $path in tests/package/) continue ;; esac
    [ ! -e "$path" ] || cp -r --parents "$path" "$out/"
  done
  find "$out/tests" \( -name '*.cpp' -o -name '*.h' \) -delete 2>/dev/null || true
  cat > "$out/use.sh" <<'TEXT'
# Source this: `. BUNDLE/use.sh`. Puts the programs on PATH and shows the tests where their files are.
TCC_SOURCE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export TCC_SOURCE_DIR TCC_BINARY_DIR="$TCC_SOURCE_DIR" PATH="$TCC_SOURCE_DIR/bin:$PATH"
TEXT

  local kib
  kib=$(du -sk "$out" | cut -f1)
  echo "$out: $((kib / 1024)).$((kib % 1024 * 10 / 1024)) MiB"
  [ "$kib" -le $((limit_mib * 1024)) ] || die "the bundle is larger than $limit_mib MiB"
}

deb_name=tcc-graph-compiler   # the Tiny C Compiler's package is tcc
package_dir=build/package
# Debian 12, Ubuntu 24.04 and later have these by the same name; the others come with us.
system_libraries='^(lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|z|tbb)\.so\.|ld-linux|linux-vdso)'

package_version() {
  local version
  version=$(sed -nE 's/^project\(tcc VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
  git describe --exact-match --tags HEAD >/dev/null 2>&1 ||
    version+=$(git log -1 --date=format:%Y%m%d --format=+git%cd.%h 2>/dev/null || true)
  echo "$version"
}

# Installs into $1/usr what users get, with those shared libraries that systems lack.
stage() {
  local root=$1 own=$1/usr/lib/$deb_name library path
  rm -rf "$root" && mkdir -p "$own"
  cmake --install "build/$preset" --prefix "$root/usr" --strip >"$package_dir/install.log" ||
    { cat "$package_dir/install.log"; die "installing failed"; }
  shared_libraries "$root"/usr/bin/* "$root/usr/lib/libtcc-core.so" | while read -r library path; do
    [[ $library =~ $system_libraries || $library = libtcc-core.so* ]] || cp -L "$path" "$own/$library"
  done
  strip --strip-unneeded "$own"/*
  patchelf --set-rpath "\$ORIGIN/../lib:\$ORIGIN/../lib/$deb_name" "$root"/usr/bin/*
  patchelf --set-rpath "\$ORIGIN/$deb_name" "$(readlink -f "$root/usr/lib/libtcc-core.so")" \
    "$(readlink -f "$root/usr/lib/libtcc-runtime.so")"
  patchelf --set-rpath "\$ORIGIN" "$own"/*
  copy_licenses "$root/usr/share/doc/$deb_name"
}

# The licences of what is linked into the library or lies beside it.
copy_licenses() {
  local of compiler=(libshaderc-dev glslang-dev spirv-tools)
  mkdir -p "$1/third-party"
  [ ! -e "$1/third-party/libshaderc-dev" ] || compiler=()  # a newer compiler was installed with its own
  for of in "${compiler[@]}" libyaml-cpp-dev libprotobuf-dev libtbb-dev libonnx-dev \
            nlohmann-json3-dev libcli11-dev; do
    cp "/usr/share/doc/$of/copyright" "$1/third-party/$of" || die "no licence of $of"
  done
}

deb() {
  preset=${PRESET:-release}
  setup
  install_packages dpkg-dev
  build programs
  mkdir -p "$package_dir"
  local root=$package_dir/root version arch doc
  version=$(package_version)
  arch=$(dpkg --print-architecture)
  say "package ($deb_name $version)"
  stage "$root"

  # The archive: the same, and what a bare system lacks, used where it lacks it.
  local tree=$deb_name-$version-linux-$(uname -m) library path
  rm -rf "${package_dir:?}/$tree" && cp -a "$root/usr" "$package_dir/$tree"
  local fallback=$package_dir/$tree/lib/$deb_name/fallback system
  system=/usr/lib/$(gcc -print-multiarch)
  mkdir "$fallback"
  shared_libraries "$root/usr/lib/libtcc-core.so" | while read -r library path; do
    [[ $library != libtbb.so* ]] || cp -L "$path" "$fallback/"
  done
  patchelf --set-rpath "\$ORIGIN/../lib:\$ORIGIN/../lib/$deb_name:$system:\$ORIGIN/../lib/$deb_name/fallback" \
    "$package_dir/$tree"/bin/*
  patchelf --set-rpath "\$ORIGIN/$deb_name:$system:\$ORIGIN/$deb_name/fallback" \
    "$(readlink -f "$package_dir/$tree/lib/libtcc-core.so")" \
    "$(readlink -f "$package_dir/$tree/lib/libtcc-runtime.so")"
  tar -C "$package_dir" --owner=0 --group=0 --sort=name -czf "$package_dir/$tree.tar.gz" "$tree"
  rm -rf "${package_dir:?}/$tree"

  # The Debian package: compressed documents, dependencies from the libraries' symbols.
  doc=$root/usr/share/doc/$deb_name
  rm "$doc/LICENSE"
  cat >"$doc/copyright" <<TEXT
Copyright: the authors of tcc
License: Apache-2.0, see /usr/share/common-licenses/Apache-2.0

The licences of what is linked into the library or lies beside it are in the
folder third-party.
TEXT
  mv "$doc/CHANGELOG.md" "$doc/changelog"
  find "$root/usr/share/man" "$doc/changelog" -type f -exec gzip -9n {} +
  mkdir -p "$root/DEBIAN" "$package_dir/debian"
  echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
  printf '%s\n' "libtcc-core ${version%%.*} $deb_name (>= $version)" \
    "libtcc-runtime ${version%%.*} $deb_name (>= $version)" >"$root/DEBIAN/shlibs"
  printf 'Source: %s\n\nPackage: %s\nArchitecture: any\n' "$deb_name" "$deb_name" >"$package_dir/debian/control"
  local depends
  depends=$(cd "$package_dir" && dpkg-shlibdeps -O --ignore-missing-info -Sroot -lroot/usr/lib "-lroot/usr/lib/$deb_name" \
              root/usr/bin/* "$(readlink -f root/usr/lib/libtcc-core.so)" \
              "$(readlink -f root/usr/lib/libtcc-runtime.so)" "root/usr/lib/$deb_name"/*.so* 2>"shlibdeps.log" |
              sed -n 's/^shlibs:Depends=//p')
  [ -n "$depends" ] || { cat "$package_dir/shlibdeps.log"; die "dpkg-shlibdeps failed"; }
  cat >"$root/DEBIAN/control" <<TEXT
Package: $deb_name
Version: $version
Architecture: $arch
Maintainer: tcc's developers <tcc@localhost>
Section: devel
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: $depends
Recommends: libvulkan1, mesa-vulkan-drivers, libsodium23
Suggests: g++, cmake, pkg-config
Description: compiler of tensor graphs to GPU kernels
 tcc turns tensor graphs (YAML, ONNX) into fused kernels for CUDA and Vulkan,
 and tunes them. This package has the programs tcc-run, tcc-tune, tcc-compile
 and tcc-info, and the library libtcc-core with its headers.
 .
 CUDA needs NVIDIA's driver and libnvrtc 12 or 13, which are found at run time,
 as libsodium is, which verifies the signatures of model packages.
 It has nothing to do with the Tiny C Compiler (package tcc), and both may be
 installed.
TEXT
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  chmod -R go=rX,u+w "$root"
  dpkg-deb --root-owner-group --build "$root" "$package_dir/${deb_name}_${version}_$arch.deb" >/dev/null
  ls -sh "$package_dir/${deb_name}_${version}_$arch.deb" "$package_dir/$tree.tar.gz"
}

# A bare system $2 of the suite $1, of Debian or Ubuntu, whose key Debian lacks.
bare_system() {
  local keyring=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
  case $1 in
    jammy|noble|oracular|plucky|questing)
      [ -e "$keyring" ] || die "no $keyring: Ubuntu's package ubuntu-keyring has it, and UBUNTU_KEYRING names a copy"
      # One script serves all of Ubuntu's suites; older debootstraps do not list the newer ones.
      debootstrap --variant=minbase --components=main,universe --keyring="$keyring" "$1" "$2" \
        http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/gutsy ;;
    *) debootstrap --variant=minbase "$1" "$2" ;;
  esac
}

# A bare system of the suite $1 (bookworm, trixie, noble, ...) in build/package: uses the newest archive and package there
# as try_package.sh says.
deb_test() {
  local suite=${1:-bookworm} base deb archive
  [ "$(id -u)" = 0 ] || die "deb-test needs root: it makes a system of its own by debootstrap"
  install_packages debootstrap
  base=$package_dir/$suite
  deb=$(ls -t "$package_dir/$deb_name"_*.deb 2>/dev/null | head -1 || true)
  archive=$(ls -t "$package_dir/$deb_name"-*.tar.gz 2>/dev/null | head -1 || true)
  [ -n "$deb" ] && [ -n "$archive" ] || die "no package: ./dev deb makes one"
  [ -e "$base/etc/debian_version" ] || bare_system "$suite" "$base"
  rm -rf "$base/tcc" && mkdir "$base/tcc"
  cp "$deb" "$archive" "$base/tcc/"
  cp -r tests/package/consumer packaging/try_package.sh "$base/tcc/"
  say "archive and package in $base"
  # In a mount namespace of its own: /proc and /dev are gone when it ends, however it ends.
  unshare --mount bash -ec 'mount --bind /proc "$1/proc"; mount --rbind /dev "$1/dev"; exec chroot "$1" bash /tcc/try_package.sh' \
    deb_test "$base"
}
