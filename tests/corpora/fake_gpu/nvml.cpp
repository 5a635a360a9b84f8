// A stand-in for libnvidia-ml.so.1: a board that draws 70 W idle and 300 W busy, whose readings move every
// 100 ms as Hopper's do. FAKE_BOARD: its name. FAKE_SENSOR=dead: readings never move; =lost: the board is gone; =old: no power
// fields, as before Ampere; =throttled: heat slows the clocks; =held: readings move every 4 s only; =clock: the clock
// moves under load. Compiled with -DFEWER_FUNCTIONS, an old driver: it lacks the fields, clocks, throttle reasons.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "state.h"

namespace {

constexpr double kIdleW = 70.0;
enum { kOk = 0, kNotSupported = 3, kGpuIsLost = 15 };

State* gpu() {
    static State* mapped = mapState();
    return mapped;
}

bool sensor(const char* kind) {
    const char* text = getenv("FAKE_SENSOR");
    return text && strcmp(text, kind) == 0;
}

long long lastUpdateNs() {
    const long long period = sensor("held") ? 4000000000LL : 100000000LL;
    return monotonicNs() / period * period;
}

// The sensor's own noise, the same whenever one reading is asked for twice.
double noiseW(long long ns) { return std::sin(ns * 1e-7) * 1.5; }

// How long it has been busy without a break by the last update; 0 when it is not.
long long busyNs(long long at) {
    const State* state = gpu();
    const long long until = state->busyUntilNs + kGraceNs;
    return at > state->busyFromNs && state->busyUntilNs > 0 ? (at < until ? at : until) - state->busyFromNs : 0;
}

double watts() {
    const long long at = lastUpdateNs();
    if (sensor("dead")) {
        return kIdleW;
    }
    return (busyNs(at) > 0 && at < gpu()->busyUntilNs + kGraceNs ? gpu()->aboveIdleW : 0.0) + kIdleW + noiseW(at);
}

double joules() {
    const long long at = lastUpdateNs();
    return (at * kIdleW + busyNs(at) * gpu()->aboveIdleW) * 1e-9 + gpu()->doneJ;
}

}  // namespace

struct FieldValue {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec;
    int valueType, nvmlReturn;
    union {
        double d;
        unsigned ui;
        unsigned long ul;
        unsigned long long ull;
    } value;
};

extern "C" {

int nvmlInitWithFlags(unsigned) { return kOk; }
int nvmlInit_v2() { return kOk; }
int nvmlShutdown() { return kOk; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 1, kOk; }
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** handle) { return *handle = gpu(), kOk; }
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** handle) { return *handle = gpu(), kOk; }
int nvmlDeviceGetName(void*, char* text, unsigned length) {
    return strncpy(text, getenv("FAKE_BOARD") ? getenv("FAKE_BOARD") : "Fake GPU", length), kOk;
}
int nvmlDeviceGetUUID(void*, char* text, unsigned length) { return strncpy(text, "GPU-0123abcd-fake", length), kOk; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return strncpy(text, "580.00", length), kOk; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = 13000, kOk; }
int nvmlSystemGetCudaDriverVersion(int* version) { return *version = 13000, kOk; }
int nvmlDeviceGetPciInfo_v3(void*, char* info) {
    // nvmlPciInfo_t: busIdLegacy[16], domain, bus, device, pciDeviceId, pciSubSystemId, busId[32]
    memset(info, 0, 68);
    strcpy(info + 36, "00000000:1B:00.0");
    return kOk;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return *milliwatts = 700000, kOk; }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return *milliwatts = watts() * 1e3, kOk; }
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
    return *millijoules = joules() * 1e3, kOk;
}
#ifndef FEWER_FUNCTIONS
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
    const bool low = sensor("clock") && monotonicNs() / 700000000LL % 2 == 0;
    return *mhz = type == 1 ? (low ? 1500 : 1980) : 3201, kOk;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 40, kOk; }
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
    return *reasons = sensor("throttled") ? 0x40 : gpu()->busyUntilNs > monotonicNs() ? 0 : 1, kOk;
}
int nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
    if (sensor("lost")) {
        return kGpuIsLost;
    }
    for (int i = 0; i < count; ++i) {
        FieldValue& value = values[i];
        const bool power = value.fieldId == 185 || value.fieldId == 186;
        value.nvmlReturn = sensor("old") || !(power || value.fieldId == 83) ? kNotSupported : kOk;
        if (power) {
            value.valueType = 1;
            value.value.ui = (value.scopeId == 2 ? 0.2 : 1.0) * watts() * 1e3;
        } else {
            value.valueType = 3;
            value.value.ull = joules() * 1e3;
        }
    }
    return kOk;
}
#endif
const char* nvmlErrorString(int) { return "the stand-in says no"; }

}  // extern "C"
