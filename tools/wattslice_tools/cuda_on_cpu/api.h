// The CUDA runtime API of one device: memory, symbols. Device memory is host memory, all is done at once.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "device_properties.h"
#include "errors.h"
#include "snapshot.h"
#include "streams.h"
#include "vector_types.h"

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum { cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped, cudaHostAllocWriteCombined = 4 };
enum { cudaHostRegisterDefault, cudaHostRegisterPortable, cudaHostRegisterMapped };
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4 };
enum { cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2 };

inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaThreadExit() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cuda_on_cpu::lastError; }
inline cudaError_t cudaThreadSynchronize() { return cuda_on_cpu::lastError; }

// ---- memory ----
namespace cuda_on_cpu {
// A GPU allocates whole pages: who reads a little beyond an array there reads something.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kPage = 1;
#else
constexpr size_t kPage = 4096;
#endif
}  // namespace cuda_on_cpu

// Nothing says what fresh memory holds: here all ones, which is not-a-number or -1.
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    const size_t whole = (bytes + cuda_on_cpu::kPage) / cuda_on_cpu::kPage * cuda_on_cpu::kPage;
    void* memory = cuda_on_cpu::kPage == 1 ? malloc(bytes) : aligned_alloc(512, whole);
    *pointer = static_cast<T*>(memory);
    if (memory == nullptr) {
        cuda_on_cpu::setLastError(cudaErrorMemoryAllocation);
        return cudaErrorMemoryAllocation;
    }
    memset(memory, 0xff, cuda_on_cpu::kPage == 1 ? bytes : whole);
    cuda_on_cpu::allocated(memory, bytes);
    return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = cudaMemAttachGlobal) {
    return cudaMalloc(pointer, bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned = 0) {
    return cudaMalloc(pointer, bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned) {
    return cudaMalloc(pointer, bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t) {
    return cudaMalloc(pointer, bytes);
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t widthBytes, size_t height) {
    *pitch = (widthBytes + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height);
}
inline cudaError_t cudaFree(void* pointer) {
    if (pointer == nullptr) {
        return cudaSuccess;
    }
    if (!cuda_on_cpu::freed(pointer)) {
        cuda_on_cpu::setLastError(cudaErrorInvalidValue);
        return cudaErrorInvalidValue;
    }
    free(pointer);
    return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
inline cudaError_t cudaHostRegister(void*, size_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
    *device = static_cast<T*>(host);
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
    *available = *total = cudaDeviceProp().totalGlobalMem;
    return cudaSuccess;
}
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
    cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy
};
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t = 0, unsigned = 0) { return cudaSuccess; }

// ---- copies ----
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
inline cudaError_t cudaMemcpy2D(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t widthBytes,
                                size_t height, cudaMemcpyKind) {
    if (widthBytes > toPitch || widthBytes > fromPitch) {
        return cudaErrorInvalidPitchValue;
    }
    for (size_t row = 0; row < height; ++row) {
        memmove(static_cast<char*>(to) + row * toPitch, static_cast<const char*>(from) + row * fromPitch, widthBytes);
    }
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t widthBytes,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t = nullptr) {
    return cudaMemcpy2D(to, toPitch, from, fromPitch, widthBytes, height, kind);
}
inline cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t widthBytes, size_t height) {
    for (size_t row = 0; row < height; ++row) {
        memset(static_cast<char*>(to) + row * pitch, value, widthBytes);
    }
    return cudaSuccess;
}

// ---- variables of the device ----
template <class Symbol>
cudaError_t cudaMemcpyToSymbol(const Symbol& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
    if (offset + bytes > sizeof symbol) {
        cuda_on_cpu::setLastError(cudaErrorInvalidValue);
        return cudaErrorInvalidValue;
    }
    memcpy(reinterpret_cast<char*>(const_cast<std::remove_const_t<Symbol>*>(&symbol)) + offset, from, bytes);
    return cudaSuccess;
}
template <class Symbol>
cudaError_t cudaMemcpyFromSymbol(void* to, const Symbol& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
    if (offset + bytes > sizeof symbol) {
        cuda_on_cpu::setLastError(cudaErrorInvalidValue);
        return cudaErrorInvalidValue;
    }
    memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes);
    return cudaSuccess;
}
template <class Symbol>
cudaError_t cudaMemcpyToSymbolAsync(const Symbol& symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t = nullptr) {
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class Symbol>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const Symbol& symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t = nullptr) {
    return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
template <class T, class Symbol>
cudaError_t cudaGetSymbolAddress(T** address, Symbol& symbol) {
    *address = reinterpret_cast<T*>(&symbol);
    return cudaSuccess;
}
template <class Symbol>
cudaError_t cudaGetSymbolSize(size_t* bytes, const Symbol& symbol) {
    *bytes = sizeof symbol;
    return cudaSuccess;
}
