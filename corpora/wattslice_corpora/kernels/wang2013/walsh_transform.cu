// Fast Walsh-Hadamard transform of a batch of vectors, natural (Hadamard) order.
// Strides that do not fit a shared-memory segment run in global memory, the rest in shared memory.
// Usage: walsh_transform [log2_length] [batch]
#include "../common.cuh"

constexpr int kSegmentLog2 = 10;
constexpr int kSegment = 1 << kSegmentLog2;
constexpr int kThreads = kSegment / 2;

// One butterfly per thread at distance `stride`.
__global__ void walshStage(float* data, int stride) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    const int low = pair & (stride - 1);
    const int first = ((pair - low) << 1) + low;
    const float a = data[first];
    const float b = data[first + stride];
    data[first] = a + b;
    data[first + stride] = a - b;
}

// All remaining stages of one segment in shared memory: two elements per thread.
__global__ void walshShared(float* data) {
    __shared__ float segment[kSegment];
    const int tid = threadIdx.x;
    float* base = data + blockIdx.x * kSegment;
    segment[tid] = base[tid];
    segment[tid + kThreads] = base[tid + kThreads];
    for (int stride = kSegment / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        const int low = tid & (stride - 1);
        const int first = ((tid - low) << 1) + low;
        const float a = segment[first];
        const float b = segment[first + stride];
        segment[first] = a + b;
        segment[first + stride] = a - b;
    }
    __syncthreads();
    base[tid] = segment[tid];
    base[tid + kThreads] = segment[tid + kThreads];
}

int main(int argc, char** argv) {
    const int log2Length = argc > 1 ? atoi(argv[1]) : 16;
    const int batch = argc > 2 ? atoi(argv[2]) : 16;
    if (log2Length < kSegmentLog2) {
        fprintf(stderr, "log2_length must be at least %d\n", kSegmentLog2);
        return 1;
    }
    const int length = 1 << log2Length;
    const int count = length * batch;

    std::vector<float> expected(count);
    for (int i = 0; i < count; ++i) {
        expected[i] = static_cast<float>((i * 31) % 9) - 4.0f;
    }

    float* dData = toDevice(expected);

    for (int stride = length / 2; stride >= kSegment; stride /= 2) {
        walshStage<<<count / 2 / kThreads, kThreads>>>(dData, stride);
    }
    walshShared<<<count / kSegment, kThreads>>>(dData);
    const std::vector<float> data = toHost(dData, count);

    for (int stride = 1; stride < length; stride *= 2) {
        for (int i = 0; i < count; ++i) {
            if ((i & stride) == 0) {
                const float a = expected[i];
                const float b = expected[i + stride];
                expected[i] = a + b;
                expected[i + stride] = a - b;
            }
        }
    }
    bool ok = true;  // whole numbers below 2^24: exact
    for (int i = 0; i < count; ++i) {
        ok = ok && data[i] == expected[i];
    }
    cudaFree(dData);
    return report(ok, "walsh_transform");
}
