"""The device's clocks, power and throttling, read through NVML or nvidia-smi."""

import contextlib
import subprocess

import torch

QUERY = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
NAMES = ("sm_mhz", "memory_mhz", "power_w", "temperature_c")


class Clocks:
    """`read()` gives a map of NAMES and `throttle` (NVML's reasons, a bit mask), empty where neither source answers."""

    def __init__(self, device):
        self.uuid, self.handle = f"GPU-{torch.cuda.get_device_properties(device).uuid}", None
        with contextlib.suppress(Exception):  # no module, no driver library, no permission: then nvidia-smi
            import pynvml

            pynvml.nvmlInit()
            self.handle, self.nvml = pynvml.nvmlDeviceGetHandleByUUID(self.uuid), pynvml

    def read(self):
        if not self.handle:
            return self.read_smi()
        try:
            return self.read_nvml()
        except self.nvml.NVMLError:  # a reading that this device does not give
            return {}

    def read_nvml(self):
        nvml, handle = self.nvml, self.handle
        values = (
            nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        )
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        return {**dict(zip(NAMES, values)), "throttle": reasons}

    def read_smi(self):
        query = f"--query-gpu={','.join(QUERY)},clocks_throttle_reasons.active"
        command = ["nvidia-smi", "-i", self.uuid, query, "--format=csv,noheader,nounits"]
        try:
            fields = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(",")
            return {**dict(zip(NAMES, map(float, fields))), "throttle": int(fields[-1], 16)}
        except (OSError, ValueError, subprocess.CalledProcessError):
            return {}
