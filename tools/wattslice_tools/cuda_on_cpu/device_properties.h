// The device that programs see: compute capability 8.0 with the limits that NVIDIA documents for it
// (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"), and A100's sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "errors.h"
#include "vector_types.h"

enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited, cudaComputeModeExclusiveProcess };
struct cudaUUID_t {
    char bytes[16];
};

struct cudaDeviceProp {
    char name[256] = "wattslice: CUDA on a CPU";
    cudaUUID_t uuid = {};
    size_t totalGlobalMem = size_t{40} << 30, sharedMemPerBlock = 48 << 10;
    int regsPerBlock = 65536, warpSize = 32;
    size_t memPitch = 0x7fffffff;
    int maxThreadsPerBlock = 1024, maxThreadsDim[3] = {1024, 1024, 64}, maxGridSize[3] = {0x7fffffff, 65535, 65535};
    int clockRate = 1410000;
    size_t totalConstMem = 65536;
    int major = 8, minor = 0;
    size_t textureAlignment = 512, texturePitchAlignment = 32, surfaceAlignment = 512;
    int deviceOverlap = 1, multiProcessorCount = 108, kernelExecTimeoutEnabled = 0, integrated = 0, canMapHostMemory = 1;
    int computeMode = cudaComputeModeDefault;
    int maxTexture1D = 131072, maxTexture1DLinear = 1 << 27, maxTexture2D[2] = {131072, 65536};
    int maxTexture1DLayered[2] = {32768, 2048}, maxTexture2DLayered[3] = {32768, 32768, 2048};
    int maxTexture3D[3] = {16384, 16384, 16384};
    int concurrentKernels = 1, ECCEnabled = 1, pciBusID = 0, pciDeviceID = 0, pciDomainID = 0, tccDriver = 0;
    int asyncEngineCount = 3, unifiedAddressing = 1, memoryClockRate = 1215000, memoryBusWidth = 5120;
    int l2CacheSize = 40 << 20, persistingL2CacheMaxSize = 30 << 20, maxThreadsPerMultiProcessor = 2048;
    int streamPrioritiesSupported = 1, globalL1CacheSupported = 1, localL1CacheSupported = 1;
    size_t sharedMemPerMultiprocessor = 164 << 10;
    int regsPerMultiprocessor = 65536, managedMemory = 1, isMultiGpuBoard = 0, multiGpuBoardGroupID = 0;
    int hostNativeAtomicSupported = 0, singleToDoublePrecisionPerfRatio = 2, pageableMemoryAccess = 1;
    int concurrentManagedAccess = 1, computePreemptionSupported = 1, canUseHostPointerForRegisteredMem = 1;
    int cooperativeLaunch = 0, cooperativeMultiDeviceLaunch = 0;  // blocks run one after another
    size_t sharedMemPerBlockOptin = 163 << 10;
    int pageableMemoryAccessUsesHostPageTables = 0, directManagedMemAccessFromHost = 0, maxBlocksPerMultiProcessor = 32;
    int accessPolicyMaxWindowSize = 128 << 20;
    size_t reservedSharedMemPerBlock = 1 << 10;
    int memoryPoolsSupported = 1;
};

#define CUDA_ON_CPU_ATTRIBUTES(A)                                                                             \
    A(MaxThreadsPerBlock, maxThreadsPerBlock) A(MaxBlockDimX, maxThreadsDim[0]) A(MaxBlockDimY, maxThreadsDim[1]) \
    A(MaxBlockDimZ, maxThreadsDim[2]) A(MaxGridDimX, maxGridSize[0]) A(MaxGridDimY, maxGridSize[1])           \
    A(MaxGridDimZ, maxGridSize[2]) A(MaxSharedMemoryPerBlock, sharedMemPerBlock)                              \
    A(TotalConstantMemory, totalConstMem) A(WarpSize, warpSize) A(MaxRegistersPerBlock, regsPerBlock)         \
    A(ClockRate, clockRate) A(MultiProcessorCount, multiProcessorCount) A(GpuOverlap, deviceOverlap) A(Integrated, integrated)             \
    A(CanMapHostMemory, canMapHostMemory) A(ComputeMode, computeMode) A(ConcurrentKernels, concurrentKernels) \
    A(EccEnabled, ECCEnabled) A(MemoryClockRate, memoryClockRate) A(GlobalMemoryBusWidth, memoryBusWidth)     \
    A(L2CacheSize, l2CacheSize) A(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor)                   \
    A(AsyncEngineCount, asyncEngineCount) A(UnifiedAddressing, unifiedAddressing)                             \
    A(ComputeCapabilityMajor, major) A(ComputeCapabilityMinor, minor)                                         \
    A(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor)                                           \
    A(MaxRegistersPerMultiprocessor, regsPerMultiprocessor) A(ManagedMemory, managedMemory)                   \
    A(PageableMemoryAccess, pageableMemoryAccess) A(ConcurrentManagedAccess, concurrentManagedAccess)         \
    A(CooperativeLaunch, cooperativeLaunch) A(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin)           \
    A(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor) A(MemoryPoolsSupported, memoryPoolsSupported)

enum cudaDeviceAttr {
#define CUDA_ON_CPU_NAME(NAME, FIELD) cudaDevAttr##NAME,
    CUDA_ON_CPU_ATTRIBUTES(CUDA_ON_CPU_NAME)
#undef CUDA_ON_CPU_NAME
};

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    *properties = cudaDeviceProp();
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    const cudaDeviceProp all;
    const long long values[] = {
#define CUDA_ON_CPU_VALUE(NAME, FIELD) static_cast<long long>(all.FIELD),
        CUDA_ON_CPU_ATTRIBUTES(CUDA_ON_CPU_VALUE)
#undef CUDA_ON_CPU_VALUE
    };
    *value = static_cast<int>(values[attribute]);
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
inline cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorInvalidDevice; }
inline cudaError_t cudaDeviceDisablePeerAccess(int) { return cudaErrorPeerAccessNotEnabled; }
inline cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

// ---- occupancy: threads and shared memory limit it, registers are unknown ----
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int threads, size_t sharedBytes,
                                                          unsigned = 0) {
    const cudaDeviceProp device;
    if (threads < 1 || threads > device.maxThreadsPerBlock) {
        return cudaErrorInvalidValue;
    }
    const size_t byShared = device.sharedMemPerMultiprocessor / (sharedBytes + device.reservedSharedMemPerBlock);
    const int byThreads = device.maxThreadsPerMultiProcessor / ((threads + 31) / 32 * 32);
    *blocks = std::min({device.maxBlocksPerMultiProcessor, byThreads, static_cast<int>(byShared)});
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel kernel, int threads,
                                                                   size_t sharedBytes, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, sharedBytes);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel kernel, size_t sharedBytes = 0,
                                               int limit = 0) {
    const cudaDeviceProp device;
    *block = limit > 0 ? std::min(limit, device.maxThreadsPerBlock) : device.maxThreadsPerBlock;
    int blocks = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, *block, sharedBytes);
    *grid = blocks * device.multiProcessorCount;
    return error;
}
template <class Kernel, class SharedBytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, Kernel kernel, SharedBytes bytes,
                                                           int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, bytes(limit > 0 ? limit : 1024), limit);
}

// ---- settings that change how fast something is ----
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 14
};
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
enum { cudaDeviceScheduleAuto, cudaDeviceScheduleSpin, cudaDeviceScheduleYield, cudaDeviceScheduleBlockingSync = 4, cudaDeviceBlockingSync = 4,
       cudaDeviceMapHost = 8, cudaDeviceLmemResizeToMax = 16 };
enum { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxShared = 100, cudaSharedmemCarveoutMaxL1 = 0 };
struct cudaFuncAttributes {
    size_t sharedSizeBytes = 0, constSizeBytes = 0, localSizeBytes = 0;
    int maxThreadsPerBlock = 1024, numRegs = 32, ptxVersion = 80, binaryVersion = 80, cacheModeCA = 0;
    int maxDynamicSharedSizeBytes = 163 << 10, preferredShmemCarveout = -1;
};
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int) {
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel, cudaFuncCache) {
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetSharedMemConfig(Kernel, cudaSharedMemConfig) {
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel) {
    *attributes = cudaFuncAttributes();
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
inline cudaError_t cudaThreadSetLimit(cudaLimit, size_t) { return cudaSuccess; }
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
