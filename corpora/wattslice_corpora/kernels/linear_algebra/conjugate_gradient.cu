// Conjugate gradients for Poisson's equation on a square grid (five-point stencil, zero at the edge): a stencil,
// two dot products and three vector updates a step. All of it streams through memory with hardly any arithmetic.
// Updates go into other vectors than they read, so that each kernel may be launched again.
// Usage: conjugate_gradient [side] [steps]
#include "matrices.cuh"

constexpr int kThreads = 256;
constexpr int kSideX = 32;
constexpr int kSideY = 8;
constexpr int kDotBlocks = 256;

__global__ void applyLaplacian(const float* p, float* q, int side) {
    const int x = blockIdx.x * kSideX + threadIdx.x;
    const int y = blockIdx.y * kSideY + threadIdx.y;
    if (x >= side || y >= side) {
        return;
    }
    const int at = y * side + x;
    const float west = x > 0 ? p[at - 1] : 0.0f;
    const float east = x < side - 1 ? p[at + 1] : 0.0f;
    const float north = y > 0 ? p[at - side] : 0.0f;
    const float south = y < side - 1 ? p[at + side] : 0.0f;
    q[at] = 4.0f * p[at] - west - east - north - south;
}

__device__ float blockSum(float value) {
    __shared__ float warpSums[kThreads / 32];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    if (threadIdx.x % 32 == 0) {
        warpSums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < kThreads / 32; ++warp) {
        sum += warpSums[warp];
    }
    return sum;
}

__global__ void dotPartial(const float* a, const float* b, float* partial, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kDotBlocks * kThreads) {
        sum += a[i] * b[i];
    }
    sum = blockSum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

__global__ void dotFinish(const float* partial, float* result) {
    const float sum = blockSum(partial[threadIdx.x]);
    if (threadIdx.x == 0) {
        *result = sum;
    }
}

// x' = x + alpha p and r' = r - alpha q with alpha = rr / pq
__global__ void updateSolution(const float* x, const float* r, const float* p, const float* q, const float* rr,
                               const float* pq, float* nextX, float* nextR, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float alpha = *rr / *pq;
        nextX[i] = x[i] + alpha * p[i];
        nextR[i] = r[i] - alpha * q[i];
    }
}

// p' = r + beta p with beta = rr' / rr
__global__ void updateDirection(const float* r, const float* p, const float* nextRr, const float* rr, float* nextP,
                                int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        nextP[i] = r[i] + *nextRr / *rr * p[i];
    }
}

static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

static std::vector<double> reference(const std::vector<float>& b, int side, int steps) {
    std::vector<double> x(b.size(), 0.0), r(b.begin(), b.end()), p = r, q(b.size());
    double rr = dot(r, r);
    for (int step = 0; step < steps; ++step) {
        for (int y = 0; y < side; ++y) {
            for (int column = 0; column < side; ++column) {
                const size_t at = static_cast<size_t>(y) * side + column;
                q[at] = 4.0 * p[at] - (column > 0 ? p[at - 1] : 0.0) - (column < side - 1 ? p[at + 1] : 0.0) -
                        (y > 0 ? p[at - side] : 0.0) - (y < side - 1 ? p[at + side] : 0.0);
            }
        }
        const double alpha = rr / dot(p, q);
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        const double nextRr = dot(r, r);
        for (size_t i = 0; i < x.size(); ++i) {
            p[i] = r[i] + nextRr / rr * p[i];
        }
        rr = nextRr;
    }
    return x;
}

int main(int argc, char** argv) {
    const int side = argc > 1 ? atoi(argv[1]) : 1024;
    const int steps = argc > 2 ? atoi(argv[2]) : 10;
    const int n = side * side;
    const std::vector<float> b = uniform(n, 1u);
    float* x = deviceZeros<float>(n);
    float* nextX = deviceZeros<float>(n);
    float* r = toDevice(b);
    float* nextR = deviceZeros<float>(n);
    float* p = toDevice(b);
    float* nextP = deviceZeros<float>(n);
    float* q = deviceZeros<float>(n);
    float* partial = deviceZeros<float>(kDotBlocks);
    float* rr = deviceZeros<float>(1);
    float* nextRr = deviceZeros<float>(1);
    float* pq = deviceZeros<float>(1);

    const dim3 block(kSideX, kSideY);
    const dim3 grid((side + kSideX - 1) / kSideX, (side + kSideY - 1) / kSideY);
    const int blocks = (n + kThreads - 1) / kThreads;
    dotPartial<<<kDotBlocks, kThreads>>>(r, r, partial, n);
    dotFinish<<<1, kDotBlocks>>>(partial, rr);
    for (int step = 0; step < steps; ++step) {
        applyLaplacian<<<grid, block>>>(p, q, side);
        dotPartial<<<kDotBlocks, kThreads>>>(p, q, partial, n);
        dotFinish<<<1, kDotBlocks>>>(partial, pq);
        updateSolution<<<blocks, kThreads>>>(x, r, p, q, rr, pq, nextX, nextR, n);
        std::swap(x, nextX);
        std::swap(r, nextR);
        dotPartial<<<kDotBlocks, kThreads>>>(r, r, partial, n);
        dotFinish<<<1, kDotBlocks>>>(partial, nextRr);
        updateDirection<<<blocks, kThreads>>>(r, p, nextRr, rr, nextP, n);
        std::swap(p, nextP);
        std::swap(rr, nextRr);
    }

    const std::vector<float> solution = toHost(x, n);
    const std::vector<double> expected = reference(b, side, steps);
    bool ok = true;
    for (int i = 0; i < n; ++i) {
        ok = ok && near(solution[i], expected[i], 1e-3);
    }
    for (float* vector : {x, nextX, r, nextR, p, nextP, q, partial, rr, nextRr, pq}) {
        cudaFree(vector);
    }
    return report(ok, "conjugate_gradient");
}
