# tcc_folder(NAME [DEPENDS target...] [EXCLUDE regex] [DATA file...]): the static library tcc_NAME of the calling folder's
# *.cpp, found recursively. The files DATA, which libtcc-runtime has, too (cmake/TccRuntime.cmake), are the library
# tcc_NAME_data. An empty folder gives an empty library, so that whoever depends on it still configures.
function(tcc_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCLUDE" "DEPENDS;DATA")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${arg_EXCLUDE})
  endif()
  if(arg_DATA)
    list(REMOVE_ITEM sources ${arg_DATA})
    tcc_folder_library(${name}_data "${arg_DATA}" "${arg_DEPENDS}")
    list(APPEND arg_DEPENDS tcc_${name}_data)
  endif()
  tcc_folder_library(${name} "${sources}" "${arg_DEPENDS}")
endfunction()

# The static library tcc_NAME, one of TCC_FOLDER_LIBRARIES.
function(tcc_folder_library name sources depends)
  tcc_placeholder_if_empty(sources)
  add_library(tcc_${name} STATIC ${sources})
  target_include_directories(tcc_${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tcc_${name} PUBLIC ${depends})
  tcc_precompile(tcc_${name})
  tcc_unity(tcc_${name})
  set_property(GLOBAL APPEND PROPERTY TCC_FOLDER_LIBRARIES tcc_${name})
endfunction()

# Appends an empty source to an empty list of sources.
function(tcc_placeholder_if_empty list)
  if(NOT ${list})
    set(empty ${PROJECT_BINARY_DIR}/empty.cpp)
    file(CONFIGURE OUTPUT ${empty} CONTENT "// The folder has no source yet.\n")
    set(${list} ${empty} PARENT_SCOPE)
  endif()
endfunction()

# tcc_executables(PATTERN [DEPENDS target...] [OPTIONS option...]): one executable per matching source of the calling folder,
# compiled with these options; their names are left in `tcc_built`.
function(tcc_executables pattern)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;OPTIONS")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
  set(built)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM program)
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE tcc_everything ${arg_DEPENDS})
    target_compile_options(${program} PRIVATE ${arg_OPTIONS})
    tcc_precompile(${program})
    list(APPEND built ${program})
  endforeach()
  set(tcc_built ${built} PARENT_SCOPE)
endfunction()
