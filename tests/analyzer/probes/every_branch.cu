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
    T total = 0;
    if (kStep > 1) total = 1;  // decides nothing: a constant of each instance
    for (int at = 0; at < n; at += kStep)
        if (values[at] > 0) total += values[at];
        else total -= 1;
    return total;
}

constexpr __device__ int larger(int a, int b) { return a > b ? a : b; }

__global__ void branches(int* out, const int* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = 0;
    if (i >= n) return;
    if (i < 10) total = 1; else if (i < 30) total = 2; else total = 3;
    if (i < 64) if (i < 16) total += 1; else total += 2;  // the else is the inner one's
    if (const int odd = i & 1) total += odd;
    if (int low = i & 7; low < 3 && i > 7) total += low;
    if (HAS(32)) total += 5;
    while (total < 4) ++total;
    do total -= 2; while (total > i);
    do { if (total < 0) break; ++total; } while (0);
    for (;;) {
        if (++total > 20) break;
        if (total & 1) continue;
        ++total;
    }
    while (true) if (--total < 10) break;
#pragma unroll
    for (int k = 0, m = i & 3; k < m; ++k) total += k;
    int k;
    for (k = 5; k > 0; k /= 2) { }
    switch (i % 6) {
        case 0: ++total;  // falls through
        case 1:
        case 2: ++total; break;
        case 3: { total += 3; break; }
        default: total -= 1;
    }
    switch (Colour(i % 3)) {
        case Colour::kRed: total += 1; break;
        case Colour::kBlue: total += 2; break;
    }
    total += i < 100 ? (i < 50 ? 1 : 2) : 3;
    const int bound = 3 > 2 ? 4 : 8;
    int few[bound] = {};
    few[i & 3] = i == 5 || (i > 90 && i != 95);
    total += few[i & 3] + larger(i, 3) + from_header(i);
    CLAMP(total)
    total += shared_by_two(i) + add_up<1>(values, 4) + add_up<2>(values, 4);
    const auto twice = [=](int x) { return x > 64 ? 2 * x : x; };
    out[i] = total + twice(i);
}

__global__ void few(int* out) {
    if (threadIdx.x < 5) out[threadIdx.x] = shared_by_two(threadIdx.x);
}

int main() {
    const int n = 128;
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
