// Errors of the runtime: the codes that programs name, with CUDA's numbers.
#pragma once

#ifndef CUDART_VERSION
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000
#endif

#define CUDA_ON_CPU_ERRORS(E)                                                     \
    E(cudaSuccess, 0, "no error")                                                 \
    E(cudaErrorInvalidValue, 1, "invalid argument")                               \
    E(cudaErrorMemoryAllocation, 2, "out of memory")                              \
    E(cudaErrorInitializationError, 3, "initialization error")                    \
    E(cudaErrorCudartUnloading, 4, "driver shutting down")                        \
    E(cudaErrorProfilerDisabled, 5, "profiler disabled")                          \
    E(cudaErrorProfilerNotInitialized, 6, "profiler not initialized")             \
    E(cudaErrorProfilerAlreadyStarted, 7, "profiler already started")             \
    E(cudaErrorProfilerAlreadyStopped, 8, "profiler already stopped")             \
    E(cudaErrorInvalidConfiguration, 9, "invalid configuration")                  \
    E(cudaErrorInvalidPitchValue, 12, "invalid pitch")                            \
    E(cudaErrorInvalidSymbol, 13, "invalid device symbol")                        \
    E(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                    \
    E(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                \
    E(cudaErrorInvalidTexture, 18, "invalid texture")                             \
    E(cudaErrorInvalidTextureBinding, 19, "invalid texture binding")              \
    E(cudaErrorInvalidChannelDescriptor, 20, "invalid channel descriptor")        \
    E(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction")              \
    E(cudaErrorAddressOfConstant, 22, "address of constant")                      \
    E(cudaErrorTextureFetchFailed, 23, "texture fetch failed")                    \
    E(cudaErrorTextureNotBound, 24, "texture not bound")                          \
    E(cudaErrorSynchronizationError, 25, "synchronization error")                 \
    E(cudaErrorInvalidFilterSetting, 26, "invalid filter setting")                \
    E(cudaErrorInvalidNormSetting, 27, "invalid norm setting")                    \
    E(cudaErrorMixedDeviceExecution, 28, "mixed device execution")                \
    E(cudaErrorNotYetImplemented, 31, "not yet implemented")                      \
    E(cudaErrorMemoryValueTooLarge, 32, "memory value too large")                 \
    E(cudaErrorInsufficientDriver, 35, "driver too old")                          \
    E(cudaErrorInvalidSurface, 37, "invalid surface")                             \
    E(cudaErrorDuplicateVariableName, 43, "duplicate variable name")              \
    E(cudaErrorDuplicateTextureName, 44, "duplicate texture name")                \
    E(cudaErrorDuplicateSurfaceName, 45, "duplicate surface name")                \
    E(cudaErrorDevicesUnavailable, 46, "devices unavailable")                     \
    E(cudaErrorIncompatibleDriverContext, 49, "incompatible driver context")      \
    E(cudaErrorMissingConfiguration, 52, "missing configuration")                 \
    E(cudaErrorPriorLaunchFailure, 53, "prior launch failure")                    \
    E(cudaErrorInvalidDeviceFunction, 98, "invalid function")                     \
    E(cudaErrorNoDevice, 100, "no device")                                        \
    E(cudaErrorInvalidDevice, 101, "invalid device")                              \
    E(cudaErrorStartupFailure, 127, "startup failure")                            \
    E(cudaErrorInvalidKernelImage, 200, "invalid kernel image")                   \
    E(cudaErrorMapBufferObjectFailed, 205, "map buffer object failed")            \
    E(cudaErrorUnmapBufferObjectFailed, 206, "unmap buffer object failed")        \
    E(cudaErrorNoKernelImageForDevice, 209, "no kernel image for device")         \
    E(cudaErrorECCUncorrectable, 214, "ECC error")                                \
    E(cudaErrorUnsupportedLimit, 215, "unsupported limit")                        \
    E(cudaErrorDeviceAlreadyInUse, 216, "device already in use")                  \
    E(cudaErrorSharedObjectSymbolNotFound, 302, "shared object symbol not found") \
    E(cudaErrorSharedObjectInitFailed, 303, "shared object init failed")          \
    E(cudaErrorInvalidResourceHandle, 400, "invalid handle")                      \
    E(cudaErrorNotReady, 600, "not ready")                                        \
    E(cudaErrorIllegalAddress, 700, "illegal address")                            \
    E(cudaErrorLaunchOutOfResources, 701, "too many resources")                   \
    E(cudaErrorLaunchTimeout, 702, "launch timed out")                            \
    E(cudaErrorPeerAccessAlreadyEnabled, 704, "peer enabled")                     \
    E(cudaErrorPeerAccessNotEnabled, 705, "peer not enabled")                     \
    E(cudaErrorSetOnActiveProcess, 708, "set on active process")                  \
    E(cudaErrorAssert, 710, "assert")                                             \
    E(cudaErrorTooManyPeers, 711, "too many peers")                               \
    E(cudaErrorHostMemoryAlreadyRegistered, 712, "already registered")            \
    E(cudaErrorHostMemoryNotRegistered, 713, "host memory not registered")        \
    E(cudaErrorLaunchFailure, 719, "launch failed")                               \
    E(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks")                 \
    E(cudaErrorNotSupported, 801, "not supported")                                \
    E(cudaErrorUnknown, 999, "unknown error")                                     \
    E(cudaErrorApiFailureBase, 10000, "api failure base")

enum cudaError {
#define CUDA_ON_CPU_CODE(NAME, CODE, TEXT) NAME = CODE,
    CUDA_ON_CPU_ERRORS(CUDA_ON_CPU_CODE)
#undef CUDA_ON_CPU_CODE
};
using cudaError_t = cudaError;
enum CUresult { CUDA_SUCCESS };

inline const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define CUDA_ON_CPU_NAME(NAME, CODE, TEXT) case NAME: return #NAME;
        CUDA_ON_CPU_ERRORS(CUDA_ON_CPU_NAME)
#undef CUDA_ON_CPU_NAME
    }
    return "unrecognized error code";
}
inline const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define CUDA_ON_CPU_TEXT(NAME, CODE, TEXT) case NAME: return TEXT;
        CUDA_ON_CPU_ERRORS(CUDA_ON_CPU_TEXT)
#undef CUDA_ON_CPU_TEXT
    }
    return "unrecognized error code";
}

namespace cuda_on_cpu {
inline cudaError_t lastError = cudaSuccess;
inline void setLastError(cudaError_t error) { lastError = error; }
}  // namespace cuda_on_cpu

inline cudaError_t cudaGetLastError() {
    const cudaError_t error = cuda_on_cpu::lastError;
    cuda_on_cpu::lastError = cudaSuccess;
    return error;
}
inline cudaError_t cudaPeekAtLastError() { return cuda_on_cpu::lastError; }
