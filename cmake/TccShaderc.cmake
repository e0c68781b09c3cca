# tcc::shaderc and tcc::spirv_tools, with the definition TCC_HAVE_SHADERC=0|1, and TCC_SHADERC_INCLUDE, the folder of their
# headers where it is not the system's, and TCC_SHADERC_VERSIONS, which names it then.
#
# The compiler that packaging/fetch_newer.sh fetched is taken where there is one: its language has cooperative matrices and
# bfloat16, which those of Debian 12 and Ubuntu 24.04 lack (docs/decisions/051-newer-compiler.md). Else the system's:
# Debian 12's libshaderc.so lacks symbols, and its libshaderc_combined.a lacks glslang and SPIRV-Tools. So several ways to
# link are tried, and one is taken only if a program linked that way has compiled, validated and optimised a shader.
set(TCC_NEWER_COMPILER ${PROJECT_SOURCE_DIR}/build/newer/compiler CACHE PATH
    "What packaging/fetch_newer.sh fetched; the system's compiler is used where there is none")
set(glslang_archives glslang MachineIndependent GenericCodeGen OGLCompiler OSDependent SPIRV
    glslang-default-resource-limits)

function(tcc_find_libraries result)  # full paths of those that exist
  set(found)
  foreach(name IN LISTS ARGN)
    find_library(TCC_LIB_${name} ${name} NO_CACHE)
    if(TCC_LIB_${name})
      list(APPEND found ${TCC_LIB_${name}})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(tcc_probe_shaderc name)  # LIBRARIES library... [SOURCES source...] [INCLUDE folder]: sets TCC_SHADERC_<name>, and tells
  cmake_parse_arguments(PARSE_ARGV 1 probe "" "INCLUDE" "SOURCES;LIBRARIES")
  if(NOT DEFINED TCC_SHADERC_${name})
    try_run(ran compiled SOURCES ${PROJECT_SOURCE_DIR}/cmake/shaderc_probe.cpp ${probe_SOURCES}
            CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${probe_INCLUDE}"
            LINK_LIBRARIES ${probe_LIBRARIES} Threads::Threads CXX_STANDARD 20)
    set(works FALSE)
    if(compiled AND ran EQUAL 0)
      set(works TRUE)
    endif()
    set(TCC_SHADERC_${name} ${works} CACHE INTERNAL "A shader compiles with libshaderc linked this way")
    message(STATUS "libshaderc, ${name}: ${works}")
  endif()
endfunction()

set(shaderc_libraries)
set(TCC_HAVE_SHADERC 0)
set(TCC_SHADERC_INCLUDE)
set(TCC_SHADERC_VERSIONS)

set(newer ${TCC_NEWER_COMPILER})
if(EXISTS ${newer}/versions)
  set(symbols ${PROJECT_SOURCE_DIR}/cmake/newer_symbols.cpp)
  set(newer_spirv_tools ${newer}/lib/libSPIRV-Tools-opt.a ${newer}/lib/libSPIRV-Tools.a)
  set(libraries ${newer}/lib/libshaderc_combined.a ${newer}/lib/libglslang.a
      ${newer}/lib/libglslang-default-resource-limits.a ${newer_spirv_tools})
  file(MD5 ${newer}/versions version)
  tcc_probe_shaderc(newer_${version} INCLUDE ${newer}/include SOURCES ${symbols} LIBRARIES ${libraries})
  if(TCC_SHADERC_newer_${version})
    add_library(tcc_newer_symbols STATIC ${symbols})
    set(shaderc_libraries ${libraries} tcc_newer_symbols)
    set(spirv_tools ${newer_spirv_tools} tcc_newer_symbols)
    set(TCC_SHADERC_INCLUDE ${newer}/include)
    file(STRINGS ${newer}/versions TCC_SHADERC_VERSIONS REGEX "shaderc|glslang")
    list(JOIN TCC_SHADERC_VERSIONS ", " TCC_SHADERC_VERSIONS)
    set(TCC_HAVE_SHADERC 1)
    # The library is installed with their licences.
    install(DIRECTORY ${newer}/licences/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/tcc-graph-compiler/third-party)
  else()
    message(WARNING "The compiler in ${newer} cannot be linked here: the system's is used")
  endif()
endif()

if(NOT TCC_HAVE_SHADERC)
  tcc_find_libraries(spirv_tools SPIRV-Tools-opt SPIRV-Tools)
  tcc_find_libraries(combined libshaderc_combined.a)
  tcc_find_libraries(glslang ${glslang_archives})
  tcc_find_libraries(shared libshaderc.so)
  foreach(way IN ITEMS combined_with_glslang combined shared)
    if(way STREQUAL combined_with_glslang)
      set(libraries ${combined} ${glslang})
    else()
      set(libraries ${${way}})
    endif()
    if(libraries AND NOT TCC_HAVE_SHADERC)
      tcc_probe_shaderc(${way} LIBRARIES ${libraries} ${spirv_tools})
      if(TCC_SHADERC_${way})
        set(shaderc_libraries ${libraries})
        set(TCC_HAVE_SHADERC 1)
      endif()
    endif()
  endforeach()
endif()
if(NOT TCC_HAVE_SHADERC)
  message(WARNING "No usable libshaderc (libshaderc-dev glslang-dev spirv-tools): GLSL is compiled only by TCC_GLSLC")
endif()

add_library(tcc_spirv_tools INTERFACE)
target_link_libraries(tcc_spirv_tools INTERFACE ${spirv_tools})
add_library(tcc::spirv_tools ALIAS tcc_spirv_tools)

add_library(tcc_shaderc INTERFACE)
target_link_libraries(tcc_shaderc INTERFACE ${shaderc_libraries} tcc_spirv_tools Threads::Threads)
target_compile_definitions(tcc_shaderc INTERFACE TCC_HAVE_SHADERC=${TCC_HAVE_SHADERC})
add_library(tcc::shaderc ALIAS tcc_shaderc)
