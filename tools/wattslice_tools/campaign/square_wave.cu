// What a power sensor is asked to follow: square_wave HOLD_S ON_S OFF_S CYCLES. Holds a context idle for HOLD_S, then is
// busy for ON_S and idle for OFF_S, CYCLES times. Prints "hold", "on", "off" with nanoseconds of CLOCK_MONOTONIC.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void work(float* out, int rounds) {
    float a = threadIdx.x * 1e-3f - 1.5f, b = blockIdx.x * 1e-4f - 1.2f;
    for (int i = 0; i < rounds; ++i) {  // chaotic, within +-1.94: all bits toggle
        a = a * a - 1.9f;
        b = b * b - 1.91f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}

static long long nowNs() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void tell(const char* what) {
    printf("%s %lld\n", what, nowNs());
    fflush(stdout);
}

static void sleepFor(double seconds) {
    timespec wait = {static_cast<time_t>(seconds), 0};
    wait.tv_nsec = static_cast<long>((seconds - wait.tv_sec) * 1e9);
    nanosleep(&wait, nullptr);
}

int main(int count, char** words) {
    if (count != 5) {
        fprintf(stderr, "usage: HOLD_S ON_S OFF_S CYCLES\n");
        return 2;
    }
    constexpr int kBlocks = 132 * 16, kThreads = 256;
    float* out = nullptr;
    if (cudaMalloc(&out, sizeof(float) * kBlocks * kThreads) != cudaSuccess) {
        fprintf(stderr, "no GPU\n");
        return 1;
    }
    work<<<kBlocks, kThreads>>>(out, 1);
    cudaDeviceSynchronize();
    tell("hold");
    sleepFor(atof(words[1]));
    for (int cycle = 0; cycle < atoi(words[4]); ++cycle) {
        tell("on");
        const long long until = nowNs() + static_cast<long long>(atof(words[2]) * 1e9);
        while (nowNs() < until) {
            for (int i = 0; i < 4; ++i) {
                work<<<kBlocks, kThreads>>>(out, 40000);
            }
            cudaDeviceSynchronize();
        }
        tell("off");
        sleepFor(atof(words[3]));
    }
    const cudaError_t status = cudaDeviceSynchronize();
    return status != cudaSuccess;
}
