// The analytic performance model that the templates share: a launch as the resources that it takes,
// and what they cost on a target. It ranks configs; its seconds are right to a factor of about two.
//
// A device has compute units (SMs, CUs) that run workgroups side by side, as many as registers,
// shared memory and thread slots allow. A round of workgroups takes as long as the resource that it
// needs most: issue slots, the load/store pipe, memory bandwidth, the bandwidth that its loads in
// flight can draw (Little's law), or its own chain of dependent steps. A software device runs one
// subgroup after the other instead; nothing is hidden there, so the parts add up.
#pragma once

#include "scheduler/config.h"
#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

struct LaunchCost {
  double workgroups = 1;
  int64_t cluster = 1;      // workgroups that run side by side in a group of units
  double threads = 32;      // of a workgroup
  double registers = 32;    // of a thread, 32 bits each
  double shared_bytes = 0;  // of a workgroup

  // These counts are of the whole launch, padding included; an operation of one thread counts 1.
  double arithmetic = 0;    // fused multiply-adds, or anything that takes an issue slot
  double accesses = 0;      // load and store instructions, to buffers and shared memory
  double bank_cycles = 0;   // that a load/store pipe is busy beyond one per subgroup access
  double elements = 0;      // loaded and stored: a software device pays for each
  double memory_bytes = 0;  // that come from memory or go there, in whole sectors
  double cache_bytes = 0;   // that pass between the last-level cache and the units
  double peer_bytes = 0;    // that workgroups send to others of their cluster

  // These are of one thread.
  double bytes_in_flight = 16;  // asked for before it waits
  double round_trips = 1;       // waits for memory, one after the other
  double first_share = 0;       // of what it asks for, that it waits for before it computes
  double stalls = 0;            // such waits during which the workgroup computes nothing
  double barriers = 0;          // of the workgroup
  double parallelism = 4;       // operations that do not wait for one another
};

double predicted_seconds(const LaunchCost& cost, const Target& target);

// A launch of one round that takes longer does not begin before the launch before it has ended
// (legalize's choose-beginning), so that neither shares the device with the other.
inline constexpr double kLongLaunch = 20e-6;

// Returns the seconds that an empty launch takes.
double launch_seconds(const Target& target);
// Issue slots per second of the whole target, and bytes per second of its last-level cache.
double operation_rate(const Target& target);
double cache_bandwidth(const Target& target);
// Bytes per second that one unit can draw, alone.
double unit_bandwidth(const Target& target);

// Bytes of the region's inputs and outputs, each once.
double region_bytes(const Region& region);
// Returns the bytes that must be read from and written to memory, for the roofline. An element-wise
// kernel need not read more elements of an input than it writes: a table that it looks rows up in,
// a tensor that it slices.
SymInt least_bytes(const Region& region);

}  // namespace tcc::sched
