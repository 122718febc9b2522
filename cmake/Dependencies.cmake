# Every dependency comes from the system. A missing one ends the configuration with one sentence that names the
# package to install, so that nobody has to guess from a find_package trace.

function(attnscale_missing what package)
  message(FATAL_ERROR "attnscale needs ${what}: install the package ${package} (Debian, Ubuntu: apt-get install ${package}), "
                      "or let ./bootstrap.sh install everything that is missing.")
endfunction()

macro(attnscale_require name package)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    attnscale_missing(${name} ${package})
  endif()
endmacro()

attnscale_require(Threads libc6-dev)
attnscale_require(fmt libfmt-dev)
attnscale_require(CLI11 libcli11-dev)
attnscale_require(Eigen3 libeigen3-dev NO_MODULE)
attnscale_require(TBB libtbb-dev)
attnscale_require(benchmark libbenchmark-dev)
attnscale_require(tomlplusplus libtomlplusplus-dev)
attnscale_require(nlohmann_json nlohmann-json3-dev)
attnscale_require(hwy libhwy-dev)
if(ATTNSCALE_TESTS)
  attnscale_require(Catch2 catch2)
endif()

# Highway's CMake package names its target hwy::hwy from 1.0.4 on and plain hwy before.
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy ALIAS hwy)
endif()

# Headers only, without a CMake package of their own.
function(attnscale_header_library target header package what)
  find_path(${target}_INCLUDE_DIR ${header})
  if(NOT ${target}_INCLUDE_DIR)
    attnscale_missing("${what}" ${package})
  endif()
  add_library(attnscale_dep_${target} INTERFACE)
  target_include_directories(attnscale_dep_${target} SYSTEM INTERFACE "${${target}_INCLUDE_DIR}")
endfunction()

attnscale_header_library(random123 Random123/philox.h librandom123-dev "Random123")
attnscale_header_library(boost_math boost/math/distributions/students_t.hpp libboost-math-dev "Boost.Math")
attnscale_header_library(xxhash xxhash.h libxxhash-dev "xxHash")
