#!/usr/bin/env bash
# From a fresh clone to results: installs what is missing, builds, then runs the quick study or the tests.
#
#   ./bootstrap.sh run  [--no-install] [-- flags of `attnscale run quick`]
#   ./bootstrap.sh test [--no-install]
#   ./bootstrap.sh deps [--ci]           only installs
set -euo pipefail
cd "$(dirname "$0")"

# What a bare Debian 12 needs: compiler and build tools, libraries, plots. Everything comes from the distribution.
tools=(ca-certificates git g++ cmake ninja-build pkg-config)
libraries=(libbenchmark-dev libfmt-dev libcli11-dev libeigen3-dev libtbb-dev catch2 libhwy-dev librandom123-dev
           libtomlplusplus-dev nlohmann-json3-dev libboost-math-dev libxxhash-dev)
plots=(gnuplot-nox fonts-dejavu-core)
checks=(clang-format python3-numpy valgrind)  # for the gate only

say() { printf 'bootstrap: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }

usage() {
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit "${1:-0}"
}

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s\n' "$package"
  done
}

install_packages() {
  local wanted=("${tools[@]}" "${libraries[@]}" "${plots[@]}")
  [ "$with_checks" = no ] || wanted+=("${checks[@]}")
  if ! command -v apt-get >/dev/null; then
    say "apt-get is not here, so nothing is installed. Install these with your own package manager (Debian's names), then"
    say "run this again with --no-install: ${wanted[*]}"
    [ "$install" = no ] || exit 2
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$install" = no ]; then
    say "not installed (--no-install): ${missing[*]}"
    return
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "installing needs root or sudo; ask your administrator for: ${missing[*]}"
    sudo=(sudo)
  fi
  say "installing from the distribution: ${missing[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
}

build() {
  local preset=$1
  shift
  command -v cmake >/dev/null || fail "cmake is missing: run without --no-install, or install it"
  cmake --preset "$preset" >&2
  say "building (preset $preset, $(nproc) jobs)"
  cmake --build --preset "$preset" -j "$(nproc)" "$@" >&2
}

command=${1:-}
[ $# -eq 0 ] || shift
install=yes
with_checks=no
rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=no ;;
    --ci) with_checks=yes ;;
    --help|-h) usage ;;
    --) shift; rest=("$@"); break ;;
    *) fail "unknown option '$1'; did you mean --no-install?" ;;
  esac
  shift
done

case $command in
  run)
    install_packages
    build release --target attnscale
    run=runs/quick-$(date +%Y%m%d-%H%M%S)
    code=0
    build/release/bin/attnscale run quick --out "$run" "${rest[@]}" || code=$?
    [ ! -f "$run/summary.csv" ] || build/release/bin/attnscale plot "$run"
    exit "$code"
    ;;
  test)
    install_packages
    build release
    exec ctest --preset release -j "$(nproc)"
    ;;
  deps) install_packages ;;
  ""|--help|-h|help) usage ;;
  *) fail "unknown command '$command'; did you mean 'run' or 'test'?" ;;
esac
