// Runs a tuned kernel of one's own on random bodies: tuned_kernel [DEVICE [TUNING_FOLDER]]
//
//   tcc-tune --kernel examples/kernels/nbody.yaml --dim N=4096 --output tuned
//   tuned_kernel auto tuned
#include <cstdio>
#include <random>
#include <tcc/tuned_kernel.hpp>

int main(int argc, char** argv) try {
  const tcc::KernelFile file = tcc::KernelFile::load("examples/kernels/nbody.yaml");
  tcc::CompileOptions options{.dims = {{"N", 4096}}};
  if (argc > 2) options.tuning = {argv[2]};
  const tcc::CompiledGraph nbody = tcc::compile(file, argc > 1 ? argv[1] : "auto", options);
  const tcc::KernelReport report = nbody.kernels().at(0);
  std::printf("%s on %s: %s (%s)\n", report.region.c_str(), nbody.device().c_str(),
              report.config.c_str(), report.tier.c_str());

  tcc::HostTensor bodies(nbody.inputs().at(0));
  std::minstd_rand random;
  for (float& number : bodies.as<float>())
    number = std::uniform_real_distribution<float>(0.1f, 1)(random);
  tcc::Context context(nbody);
  const tcc::HostTensor acceleration = context.run({&bodies, 1}).at(0);
  const auto first = acceleration.as<float>();
  std::printf("acceleration of body 0: %g %g %g\n", first[0], first[1], first[2]);
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "tuned_kernel: %s\n", error.what());
  return static_cast<int>(error.kind());
}
