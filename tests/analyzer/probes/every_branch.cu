// Every kind of branch, once where it is easily written down how often threads come through: 4 blocks of 32
// threads, i from 0 to 127.
#include <cstdio>
#include <cuda_runtime.h>
#include "other.cuh"

#define CLAMP(x) if ((x) > 100) (x) = 100;
#define HAS(flag) (i & (flag))
enum class Colour { kRed, kGreen, kBlue };

__host__ __device__ inline int shared_by_two(int i) {
    if (i % 4 == 0) return 1;  // in the host's call of it, too
    return 0;
}

template <int kStep, class T>
__device__ T add_up(const T* values, int n) {
    T sum = 0;
    if (kStep > 1) sum = 1;  // decides nothing: a constant of each instance
    for (int at = 0; at < n; at += kStep)
        if (values[at] > 0) sum += values[at];
        else sum -= 1;
    return sum;
}

constexpr __device__ int larger(int a, int b) { return a > b ? a : b; }

__global__ void branches(int* out, const int* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    if (i >= n) return;
    if (i < 10) sum = 1; else if (i < 30) sum = 2; else sum = 3;
    if (i < 64) if (i < 16) sum += 1; else sum += 2;  // the else is the inner one's
    if (const int odd = i & 1) sum += odd;
    if (int low = i & 7; low < 3 && i > 7) sum += low;
    if (HAS(32)) sum += 5;
    while (sum < 4) ++sum;
    do sum -= 2; while (sum > i);
    do { if (sum < 0) break; ++sum; } while (0);
    for (;;) {
        if (++sum > 20) break;
        if (sum & 1) continue;
        ++sum;
    }
    while (true) if (--sum < 10) break;
#pragma unroll
    for (int k = 0, m = i & 3; k < m; ++k) sum += k;
    int k;
    for (k = 5; k > 0; k /= 2) { }
    switch (i % 6) {
        case 0: ++sum;  // falls through
        case 1:
        case 2: ++sum; break;
        case 3: { sum += 3; break; }
        default: sum -= 1;
    }
    switch (Colour(i % 3)) {
        case Colour::kRed: sum += 1; break;
        case Colour::kBlue: sum += 2; break;
    }
    sum += i < 100 ? (i < 50 ? 1 : 2) : 3;
    const int bound = 3 > 2 ? 4 : 8;
    int few[bound] = {};
    few[i & 3] = i == 5 || (i > 90 && i != 95);
    sum += few[i & 3] + larger(i, 3) + from_header(i);
    CLAMP(sum)
    sum += shared_by_two(i) + add_up<1>(values, 4) + add_up<2>(values, 4);
    const auto twice = [=](int x) { return x > 64 ? 2 * x : x; };
    out[i] = sum + twice(i);
}

__global__ void few(int* out) {
    if (threadIdx.x < 5) out[threadIdx.x] = shared_by_two(threadIdx.x);
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? 120 : 128;
    int values[4] = {1, -1, 2, -2};
    int *out, *device;
    cudaMalloc(&out, 128 * sizeof(int));
    cudaMalloc(&device, sizeof values);
    cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice);
    branches<<<4, 32>>>(out, device, n);
    few<<<1, 32>>>(out);
    printf("%d\n", shared_by_two(8));
    cudaDeviceReset();
    return 0;
}
