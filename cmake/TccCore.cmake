# tcc-core: every folder in one shared library (libtcc-core.so), tcc::tcc for find_package(tcc); and
# tcc_everything, what tools, tests, bench and examples link: libtcc-core.so and the folders' headers.
get_property(folder_libraries GLOBAL PROPERTY TCC_FOLDER_LIBRARIES)
file(GLOB api_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/api/*.cpp)

# The part of api that runs what is compiled is in libtcc-runtime, too; these sources compile.
set(compiling_sources)
foreach(name IN ITEMS c_builder c_graph c_package_writer c_tune compile external graph graph_builder kernel_file options
                     package_writer tune)
  list(APPEND compiling_sources ${PROJECT_SOURCE_DIR}/api/${name}.cpp)
endforeach()
list(REMOVE_ITEM api_sources ${compiling_sources})
add_library(tcc_api_run STATIC ${api_sources})
target_link_libraries(tcc_api_run PUBLIC ${folder_libraries})  # their include directories
tcc_precompile(tcc_api_run)
tcc_unity(tcc_api_run)

add_library(tcc-core SHARED ${compiling_sources} $<TARGET_OBJECTS:tcc_api_run>)
foreach(library IN LISTS folder_libraries)
  target_sources(tcc-core PRIVATE $<TARGET_OBJECTS:${library}>)
endforeach()
# The archives give include directories and third-party libraries; their objects are in already.
target_link_libraries(tcc-core PRIVATE ${folder_libraries})
target_include_directories(tcc-core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
tcc_precompile(tcc-core)
tcc_unity(tcc-core)
target_compile_features(tcc-core INTERFACE cxx_std_20)
set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
set_target_properties(tcc-core PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME tcc LINK_DEPENDS ${exports}
  INSTALL_RPATH "$ORIGIN")
target_link_options(tcc-core PRIVATE -Wl,--version-script=${exports})
if(NOT TCC_ALLOW_UNDEFINED AND NOT TCC_SANITIZE)
  target_link_options(tcc-core PRIVATE -Wl,-z,defs)
endif()

add_library(tcc_everything INTERFACE)
target_include_directories(tcc_everything INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tcc_everything INTERFACE tcc-core TBB::tbb yaml-cpp::yaml-cpp nlohmann_json::nlohmann_json
                      ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
if(TCC_ALLOW_UNDEFINED)
  target_link_options(tcc_everything INTERFACE -Wl,--allow-shlib-undefined)
endif()

add_library(tcc::tcc ALIAS tcc-core)
