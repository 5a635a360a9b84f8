// The part of the CUDA runtime API that programs of the corpus call; device memory is host memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "snapshot.h"
#include "vector_types.h"

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorInvalidConfiguration };
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };

using cudaStream_t = struct CudaOnCpuStream*;
using cudaEvent_t = std::chrono::steady_clock::time_point*;

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
inline cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidValue; }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cuda_on_cpu::lastError; }
inline const char* cudaGetErrorString(cudaError_t error) {
    static const char* const texts[] = {"no error", "invalid argument", "out of memory", "invalid configuration"};
    return texts[error];
}

// Nothing says what fresh memory holds: here all ones, which is not-a-number or -1.
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    *pointer = static_cast<T*>(malloc(bytes));
    if (*pointer == nullptr) {
        return cudaErrorMemoryAllocation;
    }
    memset(static_cast<void*>(*pointer), 0xff, bytes);
    cuda_on_cpu::allocated(*pointer, bytes);
    return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = 0) {
    return cudaMalloc(pointer, bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes) {
    return cudaMalloc(pointer, bytes);
}
inline cudaError_t cudaFree(void* pointer) {
    cuda_on_cpu::freed(pointer);
    free(pointer);
    return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
    memmove(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t = nullptr) {
    return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    memset(to, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t = nullptr) {
    return cudaMemset(to, value, bytes);
}
template <class Symbol>
cudaError_t cudaMemcpyToSymbol(Symbol& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
    if (offset + bytes > sizeof symbol) {
        return cudaErrorInvalidValue;
    }
    memcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes);
    return cudaSuccess;
}
template <class Symbol>
cudaError_t cudaMemcpyFromSymbol(void* to, const Symbol& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
    if (offset + bytes > sizeof symbol) {
        return cudaErrorInvalidValue;
    }
    memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes);
    return cudaSuccess;
}
template <class Symbol>
cudaError_t cudaGetSymbolAddress(void** address, Symbol& symbol) {
    *address = &symbol;
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
    return cudaSuccess;
}

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    *stream = nullptr;
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cuda_on_cpu::lastError; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new std::chrono::steady_clock::time_point();
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
    *event = std::chrono::steady_clock::now();
    return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    *milliseconds = std::chrono::duration<float, std::milli>(*end - *start).count();
    return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
