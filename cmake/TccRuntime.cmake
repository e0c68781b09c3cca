# tcc-runtime: what runs packages and serialised executables without the compiler (libtcc-runtime.so, libtcc-runtime.dll): the
# folders support, executable and runtime, the part of api that runs (tcc_api_run), of ir the data types, of frontend
# safetensors. TCC_RUNTIME_ONLY builds nothing else, for other systems, too, and without packages and their API.
#
# Sources of ir and frontend are compiled for it by themselves: out of their archives, one would bring everything else.
file(GLOB data_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ir/symint*.cpp ${PROJECT_SOURCE_DIR}/ir/expr*.cpp)
foreach(name IN ITEMS bit_cast dtype scalar scalar_eval size_range suggest tensor)
  list(APPEND data_sources ${PROJECT_SOURCE_DIR}/ir/${name}.cpp)
endforeach()
set(parts tcc_support tcc_executable tcc_runtime)
if(NOT TCC_RUNTIME_ONLY)
  foreach(name IN ITEMS graph_files safetensors state_file tensor_file)
    list(APPEND data_sources ${PROJECT_SOURCE_DIR}/frontend/${name}.cpp)
  endforeach()
  list(APPEND parts tcc_api_run)
endif()
add_library(tcc-runtime SHARED ${data_sources})
foreach(library IN LISTS parts)
  target_sources(tcc-runtime PRIVATE $<TARGET_OBJECTS:${library}>)
endforeach()
target_include_directories(tcc-runtime PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
                                       INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tcc-runtime PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
tcc_precompile(tcc-runtime)
tcc_unity(tcc-runtime)
target_compile_features(tcc-runtime INTERFACE cxx_std_20)
set_target_properties(tcc-runtime PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME runtime)
if(NOT TCC_RUNTIME_ONLY)
  target_link_libraries(tcc-runtime PRIVATE TBB::tbb nlohmann_json::nlohmann_json)
  set_target_properties(tcc-runtime PROPERTIES LINK_DEPENDS ${exports})
  target_link_options(tcc-runtime PRIVATE -Wl,--version-script=${exports})
endif()
if(NOT TCC_SANITIZE AND NOT WIN32)
  target_link_options(tcc-runtime PRIVATE -Wl,-z,defs)
endif()
if(WIN32)
  # All symbols, as on other systems. Exceptions pass between programs and the DLL, so that both need one libstdc++: its
  # DLLs lie beside it.
  target_link_options(tcc-runtime PRIVATE -Wl,--export-all-symbols)
  foreach(name IN ITEMS libstdc++-6.dll libgcc_s_seh-1.dll libwinpthread-1.dll)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(COPY ${file} DESTINATION ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  endforeach()
endif()
add_library(tcc::runtime ALIAS tcc-runtime)
