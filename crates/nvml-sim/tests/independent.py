"""Reads the simulator with NVIDIA's own Python bindings and compares every value with the scenario.

Argument: the scenario. The library is the libnvidia-ml.so.1 that the loader finds. Neither the simulator's reader of
scenarios nor its structures are used here: the scenario is read with Python's tomllib, the structures are NVIDIA's.
"""
import sys
import tomllib

import pynvml as nv

MIB = 1 << 20
RECOVERY = [
    "none", "gpu_reset", "node_reboot", "drain_p2p", "drain_and_reset", "recover_imex_domain", "bus_reset",
    "system_reboot",
]
THROTTLE = {
    "sw_power_cap": nv.nvmlClocksEventReasonSwPowerCap,
    "hw_thermal": nv.nvmlClocksEventReasonHwThermalSlowdown,
    "reliability": nv.nvmlClocksThrottleReasonReliability,
}
LINK = {
    "inactive": nv.NVML_NVLINK_STATE_INACTIVE,
    "active": nv.NVML_NVLINK_STATE_ACTIVE,
    "sleep": nv.NVML_NVLINK_STATE_SLEEP,
    "active_traffic_disabled": nv.NVML_NVLINK_STATE_ACTIVE_TRAFFIC_DISABLED,
}
FABRIC_STATE = {
    "not_supported": nv.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED,
    "in_progress": nv.NVML_GPU_FABRIC_STATE_IN_PROGRESS,
    "completed": nv.NVML_GPU_FABRIC_STATE_COMPLETED,
}
FABRIC_HEALTH = {
    "not_supported": nv.NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED,
    "healthy": nv.NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY,
    "unhealthy": nv.NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY,
}
FABRIC_STATUS = {"SUCCESS": nv.NVML_SUCCESS, "NOT_READY": nv.NVML_ERROR_NOT_READY}

differences = 0
compared = 0


def same(what, read, scripted):
    global differences, compared
    compared += 1
    if read != scripted:
        differences += 1
        print(f"{what}: read {read!r}, scenario has {scripted!r}")


def fails(what, code, call, *arguments):
    try:
        read = call(*arguments)
    except nv.NVMLError as error:
        same(what, error.value, code)
    else:
        same(what, read, f"NVML error {code}")


def identity(gpu, index, want):
    same("index", nv.nvmlDeviceGetIndex(gpu), index)
    same("name", nv.nvmlDeviceGetName(gpu), want["name"])
    same("uuid", nv.nvmlDeviceGetUUID(gpu), want["uuid"])
    same("serial", nv.nvmlDeviceGetSerial(gpu), want["serial"])
    same("minor", nv.nvmlDeviceGetMinorNumber(gpu), want["minor"])
    same("vbios", nv.nvmlDeviceGetVbiosVersion(gpu), want["vbios"])
    same("inforom", nv.nvmlDeviceGetInforomImageVersion(gpu), want["inforom"])
    same("persistence", nv.nvmlDeviceGetPersistenceMode(gpu), int(want["persistence"]))
    same("mig", nv.nvmlDeviceGetMigMode(gpu), [int(want["mig"] == "enabled")] * 2)
    domain, bus, device = (int(part, 16) for part in want["pci"].removesuffix(".0").split(":"))
    pci = nv.nvmlDeviceGetPciInfo(gpu)
    same("pci", (pci.domain, pci.bus, pci.device), (domain, bus, device))
    same("pci bus id", pci.busId, f"{domain:08X}:{bus:02X}:{device:02X}.0")
    for found in (
        nv.nvmlDeviceGetHandleByUUID(want["uuid"]),
        nv.nvmlDeviceGetHandleBySerial(want["serial"]),
        nv.nvmlDeviceGetHandleByPciBusId(want["pci"]),
    ):
        same("handle", nv.nvmlDeviceGetIndex(found), index)


def health(gpu, want):
    for key, error in (("corrected", 0), ("uncorrected", 1)):
        same(f"ecc {key}", nv.nvmlDeviceGetTotalEccErrors(gpu, error, nv.NVML_VOLATILE_ECC), want[f"ecc_{key}"])
        aggregate = nv.nvmlDeviceGetTotalEccErrors(gpu, error, nv.NVML_AGGREGATE_ECC)
        same(f"ecc {key} aggregate", aggregate, want[f"ecc_{key}_aggregate"])
    keys = ("remap_corrected", "remap_uncorrected", "remap_pending", "remap_failed")
    same("remapped rows", nv.nvmlDeviceGetRemappedRows(gpu), tuple(int(want[key]) for key in keys))
    for cause, key in ((0, "retired_single_bit"), (1, "retired_double_bit")):
        same(key, len(nv.nvmlDeviceGetRetiredPages(gpu, cause)), want[key])
        same(key, len(nv.nvmlDeviceGetRetiredPages_v2(gpu, cause)), want[key])
    same("retired_pending", nv.nvmlDeviceGetRetiredPagesPendingStatus(gpu), int(want["retired_pending"]))
    field = nv.nvmlDeviceGetFieldValues(gpu, [nv.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])[0]
    same("recovery_action", (field.nvmlReturn, RECOVERY[field.value.uiVal]), (0, want["recovery_action"]))
    scripted = (FABRIC_STATE[want["fabric_state"]], FABRIC_STATUS[want["fabric_status"]])
    for info in (nv.c_nvmlGpuFabricInfo_v2_t(), nv.c_nvmlGpuFabricInfo_v3_t()):
        nv.nvmlDeviceGetGpuFabricInfoV(gpu, nv.byref(info))
        same("fabric", (info.state, info.status), scripted)
    same("fabric_health", info.healthSummary, FABRIC_HEALTH[want["fabric_health"]])
    old = nv.c_nvmlGpuFabricInfo_t()
    nv.nvmlDeviceGetGpuFabricInfo(gpu, nv.byref(old))
    same("fabric, first version", (old.state, old.status), scripted)


def load(gpu, want):
    same("temperature", nv.nvmlDeviceGetTemperature(gpu, nv.NVML_TEMPERATURE_GPU), want["temperature_c"])
    same("temperature", nv.nvmlDeviceGetTemperatureV(gpu, nv.NVML_TEMPERATURE_GPU), want["temperature_c"])
    for key, which in (("slowdown", 1), ("shutdown", 0)):
        threshold = nv.nvmlDeviceGetTemperatureThreshold(gpu, which)
        same(key, threshold, want[f"temperature_{key}_c"])
    same("power_limit", nv.nvmlDeviceGetEnforcedPowerLimit(gpu), round(want["power_limit_w"] * 1000))
    reasons = sum(THROTTLE[reason] for reason in want["throttle"])
    same("throttle", nv.nvmlDeviceGetCurrentClocksEventReasons(gpu), reasons)
    same("throttle", nv.nvmlDeviceGetCurrentClocksThrottleReasons(gpu), reasons)
    for clock, key in ((nv.NVML_CLOCK_SM, "sm"), (nv.NVML_CLOCK_MEM, "memory")):
        same(key, nv.nvmlDeviceGetClockInfo(gpu, clock), want[f"clock_{key}_mhz"])
        same(key, nv.nvmlDeviceGetMaxClockInfo(gpu, clock), want[f"clock_{key}_max_mhz"])
    rates = nv.nvmlDeviceGetUtilizationRates(gpu)
    same("utilization", (rates.gpu, rates.memory), (want["utilization_gpu"], want["utilization_memory"]))
    used = (want["memory_used_mib"] + sum(process["memory_mib"] for process in want["processes"])) * MIB
    total = want["memory_total_mib"] * MIB
    for memory in (nv.nvmlDeviceGetMemoryInfo(gpu), nv.nvmlDeviceGetMemoryInfo(gpu, nv.nvmlMemory_v2)):
        same("memory", (memory.total, memory.used, memory.free), (total, used, total - used))
    scripted = [(process["pid"], process["memory_mib"] * MIB) for process in want["processes"]]
    for call in (nv.nvmlDeviceGetComputeRunningProcesses_v2, nv.nvmlDeviceGetComputeRunningProcesses_v3):
        same("processes", [(process.pid, process.usedGpuMemory) for process in call(gpu)], scripted)


def links(gpu, want):
    same("pcie gen", nv.nvmlDeviceGetCurrPcieLinkGeneration(gpu), want["pcie_gen"])
    same("pcie gen max", nv.nvmlDeviceGetMaxPcieLinkGeneration(gpu), want["pcie_gen_max"])
    same("pcie width", nv.nvmlDeviceGetCurrPcieLinkWidth(gpu), want["pcie_width"])
    same("pcie width max", nv.nvmlDeviceGetMaxPcieLinkWidth(gpu), want["pcie_width_max"])
    same("pcie replays", nv.nvmlDeviceGetPcieReplayCounter(gpu), want["pcie_replays"])
    counters = (
        ("replay", nv.NVML_NVLINK_ERROR_DL_REPLAY),
        ("recovery", nv.NVML_NVLINK_ERROR_DL_RECOVERY),
        ("crc_flit", nv.NVML_NVLINK_ERROR_DL_CRC_FLIT),
        ("crc_data", nv.NVML_NVLINK_ERROR_DL_CRC_DATA),
    )
    for number in range(want["nvlinks"]):
        link = next((link for link in want["nvlink"] if link["link"] == number), {})
        same(f"link {number}", nv.nvmlDeviceGetNvLinkState(gpu, number), LINK[link.get("state", "active")])
        for key, counter in counters:
            same(f"link {number} {key}", nv.nvmlDeviceGetNvLinkErrorCounter(gpu, number, counter), link.get(key, 0))
    fails("one link more", nv.NVML_ERROR_INVALID_ARGUMENT, nv.nvmlDeviceGetNvLinkState, gpu, want["nvlinks"])


def main():
    with open(sys.argv[1], "rb") as file:
        scenario = tomllib.load(file)
    nv.nvmlInit()
    driver = scenario["driver"]
    same("driver", nv.nvmlSystemGetDriverVersion(), driver["version"])
    same("nvml", nv.nvmlSystemGetNVMLVersion(), driver["nvml"])
    same("cuda", nv.nvmlSystemGetCudaDriverVersion(), driver["cuda"])
    same("count", nv.nvmlDeviceGetCount(), scenario["gpus"])
    for table in scenario["gpu"]:
        want = scenario["gpu_defaults"] | table
        index = table["index"]
        if index == 5:
            fails("lost", nv.NVML_ERROR_GPU_IS_LOST, nv.nvmlDeviceGetHandleByIndex, index)
            continue
        gpu = nv.nvmlDeviceGetHandleByIndex(index)
        identity(gpu, index, want)
        health(gpu, want)
        load(gpu, want)
        links(gpu, want)
        if index == 6:
            fails("power", nv.NVML_ERROR_TIMEOUT, nv.nvmlDeviceGetPowerUsage, gpu)
        else:
            same("power", nv.nvmlDeviceGetPowerUsage(gpu), round(want["power_w"] * 1000))
    fails("index", nv.NVML_ERROR_INVALID_ARGUMENT, nv.nvmlDeviceGetHandleByIndex, 8)
    fails("not exported", nv.NVML_ERROR_FUNCTION_NOT_FOUND, nv.nvmlUnitGetCount)
    nv.nvmlShutdown()
    fails("after shutdown", nv.NVML_ERROR_UNINITIALIZED, nv.nvmlDeviceGetCount)
    print(f"{compared} values compared, {differences} differ")
    sys.exit(1 if differences or compared < 700 else 0)


main()
