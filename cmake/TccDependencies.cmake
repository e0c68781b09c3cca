# Third-party packages. Drivers and vendors' SDKs are never linked: CUDA, NVRTC and the Vulkan loader are opened at run time.
find_package(Threads REQUIRED)

# Headers alone, which every system shares: where the compiler does not look for headers of the machine that builds, it
# is shown these two folders of them.
find_path(TCC_VULKAN_INCLUDE vulkan/vulkan.h REQUIRED NO_CMAKE_FIND_ROOT_PATH)
set(vulkan_include ${TCC_VULKAN_INCLUDE})
if(CMAKE_CROSSCOMPILING)
  set(vulkan_include ${PROJECT_BINARY_DIR}/vulkan_include)
  file(MAKE_DIRECTORY ${vulkan_include})
  foreach(folder IN ITEMS vulkan vk_video)
    file(CREATE_LINK ${TCC_VULKAN_INCLUDE}/${folder} ${vulkan_include}/${folder} SYMBOLIC)
  endforeach()
endif()
add_library(tcc_vulkan_headers INTERFACE)
target_include_directories(tcc_vulkan_headers SYSTEM INTERFACE ${vulkan_include})
target_compile_definitions(tcc_vulkan_headers INTERFACE VK_NO_PROTOTYPES)
if(TCC_RUNTIME_ONLY)
  return()
endif()

find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_path(TCC_BOOST_INCLUDE boost/math/distributions/students_t.hpp REQUIRED)  # statistics; headers alone
add_library(tcc_boost_headers INTERFACE)
target_include_directories(tcc_boost_headers SYSTEM INTERFACE ${TCC_BOOST_INCLUDE})
if(NOT TARGET yaml-cpp::yaml-cpp)  # the target's name before 0.8
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()

# Tests compile CUDA text with it where it exists.
find_program(TCC_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)

include(TccShaderc)
