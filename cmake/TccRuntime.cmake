# tcc-runtime: what runs packages and serialised executables without the compiler (libtcc-runtime.so, libtcc-runtime.dll): the
# folders support, executable and runtime, the part of api that runs (tcc_api_run), of ir the data types, of frontend
# safetensors. TCC_RUNTIME_ONLY builds nothing else, for other systems, too, and without the public API (packages are read).
set(parts tcc_support tcc_ir_data tcc_executable tcc_runtime)
if(NOT TCC_RUNTIME_ONLY)
  list(APPEND parts tcc_frontend_data tcc_api_run)
endif()
set(objects)
foreach(library IN LISTS parts)
  list(APPEND objects $<TARGET_OBJECTS:${library}>)
endforeach()
add_library(tcc-runtime SHARED ${objects})
target_include_directories(tcc-runtime INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tcc-runtime PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(tcc-runtime PROPERTIES LINKER_LANGUAGE CXX)
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
