# tcc::shaderc and tcc::spirv_tools, with the definition TCC_HAVE_SHADERC=0|1.
#
# Debian 12's libshaderc.so lacks symbols, and its libshaderc_combined.a lacks glslang and SPIRV-Tools. So several ways to
# link are tried, and one is taken only if a program linked that way has compiled, validated and optimised a shader.
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

function(tcc_probe_shaderc name)  # LIBRARIES...: sets TCC_SHADERC_<name>, and tells
  if(NOT DEFINED TCC_SHADERC_${name})
    try_run(ran compiled SOURCES ${PROJECT_SOURCE_DIR}/cmake/shaderc_probe.cpp
            LINK_LIBRARIES ${ARGN} Threads::Threads CXX_STANDARD 20)
    set(works FALSE)
    if(compiled AND ran EQUAL 0)
      set(works TRUE)
    endif()
    set(TCC_SHADERC_${name} ${works} CACHE INTERNAL "A shader compiles with libshaderc linked this way")
    message(STATUS "libshaderc, ${name}: ${works}")
  endif()
endfunction()

tcc_find_libraries(spirv_tools SPIRV-Tools-opt SPIRV-Tools)
tcc_find_libraries(combined libshaderc_combined.a)
tcc_find_libraries(glslang ${glslang_archives})
tcc_find_libraries(shared libshaderc.so)

set(shaderc_libraries)
set(TCC_HAVE_SHADERC 0)
foreach(way IN ITEMS combined_with_glslang combined shared)
  if(way STREQUAL combined_with_glslang)
    set(libraries ${combined} ${glslang})
  else()
    set(libraries ${${way}})
  endif()
  if(libraries AND NOT TCC_HAVE_SHADERC)
    tcc_probe_shaderc(${way} ${libraries} ${spirv_tools})
    if(TCC_SHADERC_${way})
      set(shaderc_libraries ${libraries})
      set(TCC_HAVE_SHADERC 1)
    endif()
  endif()
endforeach()
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
