# Compiler and linker flags of every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)  # an executable is not linked again because libtcc-core.so changed
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Programs too, so that one precompiled header serves them and the libraries.
add_compile_options(-fPIC)
add_compile_options(-Wall -Wextra -Wshadow -Wno-unused-parameter)
if(TCC_WERROR)
  add_compile_options(-Werror)
endif()
# Numerics: no contraction to fma, so that the reference gives the same bits on every machine.
add_compile_options(-ffp-contract=off)
# Calls inside libtcc-core.so may be bound and inlined at compile time; nobody interposes them.
add_compile_options(-fno-semantic-interposition)
add_compile_definitions(TCC_VERSION="${PROJECT_VERSION}")

if(TCC_SANITIZE)
  add_compile_options(-fsanitize=${TCC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TCC_SANITIZE})
  # GCC takes what a sanitizer adds for reads of variables that were not set.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  # Code may ask for this: function multiversioning resolves before the sanitizers' runtime starts.
  add_compile_definitions(TCC_SANITIZE=1)
endif()

find_program(TCC_CCACHE ccache)
if(TCC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache needs this sloppiness to serve sources that include a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,locale ${TCC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TCC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold TCC_HAVE_MOLD)
if(TCC_HAVE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# tcc_hot_source(FILE...): compiles sources of the calling folder with -O3, whatever the build type.
# Vector instruction sets beyond the baseline are chosen in the code, with target_clones.
function(tcc_hot_source)
  if(NOT TCC_SANITIZE)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

option(TCC_PRECOMPILE "Compile the headers of cmake/precompiled.h once" ON)

# tcc_precompile(TARGET [OWNER]): the target's sources begin with cmake/precompiled.h, compiled once for tcc_support; with an
# OWNER of tests, with cmake/precompiled_test.h.
function(tcc_precompile target)
  if(NOT TCC_PRECOMPILE)
    return()
  endif()
  set(owner tcc_support)
  set(header cmake/precompiled.h)
  if(ARGC GREATER 1)
    set(owner ${ARGV1})
    set(header cmake/precompiled_test.h)
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache needs it
  if(target STREQUAL owner)
    # The name in brackets is found in the include folders: the text is the same in every checkout.
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>)
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

option(TCC_UNITY "Compile several sources of a library at once" ON)
set(TCC_UNITY_KIB "" CACHE STRING "About so many KiB of sources are compiled at once; empty: 128")

# tcc_unity(TARGET [TIMES n]): compiles the target's sources in groups of about TCC_UNITY_KIB (n times as much, where headers
# cost most), neighbours together and all groups of a target of one size. Headers and templates of the standard library are
# then compiled once for a group: in groups of 128 KiB the kernel templates take less than half of the time that they take one
# by one, larger groups save little more, and no group is the long tail of a build on two cores. The preset dev asks for
# smaller groups, since a changed source compiles its whole group again. Continuous integration compiles the larger ones in that
# preset, too, so that what it accepts builds as a release.
#
# Each source still stands alone: with TCC_UNITY=OFF it is compiled by itself. Names in anonymous namespaces differ within a
# library; a kernel template or an op has a namespace of its own.
function(tcc_unity target)
  if(NOT TCC_UNITY)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMES" "")
  set(size ${TCC_UNITY_KIB})
  if(NOT size)
    set(size 128)
  endif()
  if(arg_TIMES)
    math(EXPR size "${size} * ${arg_TIMES}")
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^/.*\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_BINARY_DIR}/")
  list(SORT sources)
  set(total 0)
  foreach(source IN LISTS sources)
    file(SIZE ${source} bytes)
    math(EXPR total "${total} + ${bytes}")
  endforeach()
  math(EXPR groups "(${total} + ${size} * 512) / (${size} * 1024)")
  if(groups LESS 1)
    set(groups 1)
  endif()
  set(before 0)
  foreach(source IN LISTS sources)
    math(EXPR number "${before} * ${groups} / (${total} + 1)")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${number})
    file(SIZE ${source} bytes)
    math(EXPR before "${before} + ${bytes}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
