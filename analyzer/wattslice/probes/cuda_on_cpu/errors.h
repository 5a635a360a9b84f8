// Errors of the runtime: the codes that programs name, with CUDA's numbers.
#pragma once

#ifndef CUDART_VERSION
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000
#endif

#define CUDA_ON_CPU_ERRORS(E)                                                                                       \
    E(cudaSuccess, 0, "no error") E(cudaErrorInvalidValue, 1, "invalid argument")                                   \
    E(cudaErrorMemoryAllocation, 2, "out of memory") E(cudaErrorInitializationError, 3, "initialization error")     \
    E(cudaErrorCudartUnloading, 4, "driver shutting down")                                                          \
    E(cudaErrorInvalidConfiguration, 9, "invalid configuration") E(cudaErrorInvalidPitchValue, 12, "invalid pitch") \
    E(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                                          \
    E(cudaErrorInvalidDevicePointer, 17, "invalid device pointer") E(cudaErrorInvalidTexture, 18, "invalid texture") \
    E(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction")                                                \
    E(cudaErrorInsufficientDriver, 35, "driver too old") E(cudaErrorInvalidDeviceFunction, 98, "invalid function")  \
    E(cudaErrorNoDevice, 100, "no device") E(cudaErrorInvalidDevice, 101, "invalid device")                         \
    E(cudaErrorInvalidResourceHandle, 400, "invalid handle") E(cudaErrorNotReady, 600, "not ready")                 \
    E(cudaErrorIllegalAddress, 700, "illegal address") E(cudaErrorLaunchOutOfResources, 701, "too many resources")  \
    E(cudaErrorLaunchTimeout, 702, "launch timed out") E(cudaErrorPeerAccessAlreadyEnabled, 704, "peer enabled")    \
    E(cudaErrorPeerAccessNotEnabled, 705, "peer not enabled")                                                       \
    E(cudaErrorHostMemoryAlreadyRegistered, 712, "already registered") E(cudaErrorLaunchFailure, 719, "launch failed") \
    E(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks") E(cudaErrorNotSupported, 801, "not supported")    \
    E(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define CUDA_ON_CPU_CODE(NAME, CODE, TEXT) NAME = CODE,
    CUDA_ON_CPU_ERRORS(CUDA_ON_CPU_CODE)
#undef CUDA_ON_CPU_CODE
};
using cudaError_t = cudaError;

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
