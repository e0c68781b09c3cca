// A tuner and its measuring worker exchange frames: a length (4 bytes, little endian), then CBOR.
//
// The worker speaks first, when its device is open: {"resident", "tcc"}. Then every request has one
// reply. A worker holds several jobs, by their numbers.
//   {"do": "job", "number", "job"}                                    {"resident"}
//   {"do": "drop", "number"}                                          {"resident"}
//   {"do": "baseline", "number", "kernel"}                            {"resident", "measurements"}
//   {"do": "measure", "number", "kernel", "effort", "best_seconds"}   {"resident", "measurements"}
//   {"do": "duel", "number", "incumbent", "challenger"}               {"resident", "measurements"}
// or {"resident", "error": {"kind", "message"}}. `resident` is the worker's memory in bytes, `tcc`
// its version.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotune/bench.h"

namespace tcc::autotune {

inline constexpr uint32_t kMostFrameBytes = uint32_t{1} << 28;
// The exit code of a worker whose device fails the kernel that it ran before.
inline constexpr int kDeviceLostExit = 90;

nlohmann::json to_json(const BenchJob& job);
nlohmann::json to_json(const exec::StandaloneSequence& kernel);  // without its source
nlohmann::json to_json(const Measurement& measurement);
// Throw Error(bad_input) for JSON of another form, or beyond a limit of size.
BenchJob job_from_json(const nlohmann::json& json);
exec::StandaloneSequence kernel_from_json(const nlohmann::json& json);
std::vector<Measurement> measurements_from_json(const nlohmann::json& json);  // a list

// Returns the number of bytes that follow a frame's header. Throws Error(bad_input) beyond
// kMostFrameBytes.
inline constexpr size_t kFrameHeaderBytes = 4;
size_t frame_size(std::span<const uint8_t> header);
// Decodes the bytes that follow the header. Throws Error(bad_input).
nlohmann::json decode_frame(std::span<const uint8_t> bytes);

// Reads the next frame of a blocking descriptor; nothing at its end.
std::optional<nlohmann::json> read_frame(int descriptor);
// Writes a frame to a socket. Returns false when its reader is gone or stuck. Throws
// Error(bad_input) beyond kMostFrameBytes.
bool write_frame(int socket, const nlohmann::json& message);

}  // namespace tcc::autotune
