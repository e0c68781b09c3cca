# Sourced by ./dev: the runtime for other systems (docs/embedding.md), by the distribution's cross-compilers.
cross_tools=(cmake ninja-build ccache git libvulkan-dev googletest)
cross_aarch64=(g++-aarch64-linux-gnu qemu-user-static)
cross_windows=(g++-mingw-w64-x86-64-posix wine64 xvfb xauth)

cross() {  # SYSTEM...
  local system
  [ $# -gt 0 ] || set -- aarch64 windows
  for system in "$@"; do
    [[ $system = aarch64 || $system = windows ]] || die "no system '$system': aarch64 or windows"
    local -n compilers="cross_$system"
    ! command -v apt-get >/dev/null || install_packages "${cross_tools[@]}" "${compilers[@]}"
    preset=cross-$system
    mkdir -p build
    say "build ($preset)"
    cmake --preset "$preset" -D TCC_WERROR=ON >"build/configure-$preset.log" 2>&1 ||
      { cat "build/configure-$preset.log"; die "configuring failed"; }
    cmake --build "build/$preset" -j "$jobs"
    [ "$system" != aarch64 ] || packaging/fetch_aarch64.sh ||
      echo "dev: no lavapipe for aarch64: tests of the label cross are skipped there" >&2
    echo "build/$preset/bin, build/$preset/lib; ./dev test -L cross runs it"
  done
}
