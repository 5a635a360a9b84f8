// What every program of the corpus needs around its kernels: checked CUDA calls, copies between vectors
// and device memory, and one way to say whether the result is right.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                                    \
    do {                                                                                    \
        const cudaError_t status = (call);                                                  \
        if (status != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

template <class T>
T* toDevice(const std::vector<T>& values) {
    T* device = nullptr;
    CUDA_CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <class T>
T* deviceZeros(size_t count) {
    T* device = nullptr;
    CUDA_CHECK(cudaMalloc(&device, count * sizeof(T)));
    CUDA_CHECK(cudaMemset(device, 0, count * sizeof(T)));
    return device;
}

// Waits for the kernels before it, so that it also reports the errors of their launches.
template <class T>
std::vector<T> toHost(const T* device, size_t count) {
    std::vector<T> values(count);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

// The tolerance is relative to the larger of 1 and the expected value; not a number is never near.
inline bool near(double actual, double expected, double tolerance) {
    return std::fabs(actual - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

// Prints the verdict; returns the exit status of main.
inline int report(bool ok, const char* what) {
    printf("%s: %s\n", ok ? "OK" : "FAILED", what);
    return ok ? 0 : 1;
}
