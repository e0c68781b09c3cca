# Third-party packages. Drivers and vendors' SDKs are never linked: CUDA, NVRTC and the Vulkan loader are opened at run time.
find_package(Threads REQUIRED)
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

find_path(TCC_VULKAN_INCLUDE vulkan/vulkan.h REQUIRED)
add_library(tcc_vulkan_headers INTERFACE)
target_include_directories(tcc_vulkan_headers SYSTEM INTERFACE ${TCC_VULKAN_INCLUDE})
target_compile_definitions(tcc_vulkan_headers INTERFACE VK_NO_PROTOTYPES)

# Tests compile CUDA text with it where it exists.
find_program(TCC_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)

include(TccShaderc)
