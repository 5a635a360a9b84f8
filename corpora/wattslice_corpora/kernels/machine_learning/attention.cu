// Attention softmax(Q K^T / sqrt(d)) V for several heads, head size 64: in three kernels that write the matrix of
// scores and that of probabilities to global memory, or in one that walks over tiles of keys and values in shared
// memory with the online softmax and writes neither. The same products; the naive one adds traffic of the order n^2.
// Usage: attention [n] [heads]    (n: queries and keys)
#include "../common.cuh"

#include <cfloat>

constexpr int kHeadSize = 64;
constexpr int kTile = 16;         // queries and keys of a block of attentionScores
constexpr int kSoftmaxThreads = 128;
constexpr int kQueries = 128;     // of a block of attentionFused, one for each thread
constexpr int kKeys = 32;         // in its tile

__global__ void attentionScores(const float* __restrict__ queries, const float* __restrict__ keys,
                                float* __restrict__ scores, float scale, int n) {
    const int key = blockIdx.x * blockDim.x + threadIdx.x;
    const int query = blockIdx.y * blockDim.y + threadIdx.y;
    if (key >= n || query >= n) {
        return;
    }
    const size_t head = blockIdx.z;
    const float* q = queries + (head * n + query) * kHeadSize;
    const float* k = keys + (head * n + key) * kHeadSize;
    float sum = 0.0f;
    for (int i = 0; i < kHeadSize; ++i) {
        sum += q[i] * k[i];
    }
    scores[(head * n + query) * n + key] = sum * scale;
}

// One block for each row of scores.
__global__ void attentionSoftmax(const float* __restrict__ scores, float* __restrict__ probabilities, int n) {
    __shared__ float partial[kSoftmaxThreads];
    const float* row = scores + static_cast<size_t>(blockIdx.x) * n;
    float* result = probabilities + static_cast<size_t>(blockIdx.x) * n;
    const int tid = threadIdx.x;

    float maximum = -FLT_MAX;
    for (int i = tid; i < n; i += kSoftmaxThreads) {
        maximum = fmaxf(maximum, row[i]);
    }
    partial[tid] = maximum;
    __syncthreads();
    for (int stride = kSoftmaxThreads / 2; stride > 0; stride >>= 1) {
        if (tid < stride) {
            partial[tid] = fmaxf(partial[tid], partial[tid + stride]);
        }
        __syncthreads();
    }
    maximum = partial[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = tid; i < n; i += kSoftmaxThreads) {
        sum += expf(row[i] - maximum);
    }
    partial[tid] = sum;
    __syncthreads();
    for (int stride = kSoftmaxThreads / 2; stride > 0; stride >>= 1) {
        if (tid < stride) {
            partial[tid] += partial[tid + stride];
        }
        __syncthreads();
    }
    const float inverse = 1.0f / partial[0];
    for (int i = tid; i < n; i += kSoftmaxThreads) {
        result[i] = expf(row[i] - maximum) * inverse;
    }
}

__global__ void attentionOutput(const float* __restrict__ probabilities, const float* __restrict__ values,
                                float* __restrict__ out, int n) {
    const int column = threadIdx.x;
    const int query = blockIdx.y * blockDim.y + threadIdx.y;
    if (query >= n) {
        return;
    }
    const size_t head = blockIdx.z;
    const float* p = probabilities + (head * n + query) * n;
    const float* v = values + head * n * kHeadSize;
    float sum = 0.0f;
    for (int key = 0; key < n; ++key) {
        sum += p[key] * v[key * kHeadSize + column];
    }
    out[(head * n + query) * kHeadSize + column] = sum;
}

__global__ void attentionFused(const float* __restrict__ queries, const float* __restrict__ keys,
                               const float* __restrict__ values, float* __restrict__ out, float scale, int n) {
    __shared__ float keyTile[kKeys][kHeadSize];
    __shared__ float valueTile[kKeys][kHeadSize];
    const size_t head = blockIdx.y;
    const int query = blockIdx.x * kQueries + threadIdx.x;
    const float* q = queries + (head * n + min(query, n - 1)) * kHeadSize;
    const float* k = keys + head * n * kHeadSize;
    const float* v = values + head * n * kHeadSize;

    float own[kHeadSize];
    float sum[kHeadSize];
#pragma unroll
    for (int i = 0; i < kHeadSize; ++i) {
        own[i] = q[i] * scale;
        sum[i] = 0.0f;
    }
    // `sum` and `total` belong to `maximum`; when it grows, they shrink.
    float maximum = -FLT_MAX;
    float total = 0.0f;
    for (int start = 0; start < n; start += kKeys) {
        for (int i = threadIdx.x; i < kKeys * kHeadSize; i += kQueries) {
            const int key = min(start + i / kHeadSize, n - 1);
            keyTile[i / kHeadSize][i % kHeadSize] = k[key * kHeadSize + i % kHeadSize];
            valueTile[i / kHeadSize][i % kHeadSize] = v[key * kHeadSize + i % kHeadSize];
        }
        __syncthreads();
        const int inTile = min(kKeys, n - start);
        for (int key = 0; key < inTile; ++key) {
            float score = 0.0f;
#pragma unroll
            for (int i = 0; i < kHeadSize; ++i) {
                score += own[i] * keyTile[key][i];
            }
            const float larger = fmaxf(maximum, score);
            const float shrink = expf(maximum - larger);
            const float weight = expf(score - larger);
            maximum = larger;
            total = total * shrink + weight;
#pragma unroll
            for (int i = 0; i < kHeadSize; ++i) {
                sum[i] = sum[i] * shrink + weight * valueTile[key][i];
            }
        }
        __syncthreads();
    }
    if (query < n) {
        const float inverse = 1.0f / total;
#pragma unroll
        for (int i = 0; i < kHeadSize; ++i) {
            out[(head * n + query) * kHeadSize + i] = sum[i] * inverse;
        }
    }
}

// What attention gives for one query of one head.
static std::vector<double> attend(const float* query, const float* keys, const float* values, int n) {
    std::vector<double> weights(n), result(kHeadSize);
    double maximum = -DBL_MAX;
    for (int key = 0; key < n; ++key) {
        double score = 0.0;
        for (int i = 0; i < kHeadSize; ++i) {
            score += static_cast<double>(query[i]) * keys[static_cast<size_t>(key) * kHeadSize + i];
        }
        weights[key] = score / std::sqrt(static_cast<double>(kHeadSize));
        maximum = std::max(maximum, weights[key]);
    }
    double total = 0.0;
    for (double& weight : weights) {
        weight = std::exp(weight - maximum);
        total += weight;
    }
    for (int key = 0; key < n; ++key) {
        for (int i = 0; i < kHeadSize; ++i) {
            result[i] += weights[key] / total * values[static_cast<size_t>(key) * kHeadSize + i];
        }
    }
    return result;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    const int heads = argc > 2 ? atoi(argv[2]) : 8;
    const size_t count = static_cast<size_t>(heads) * n * kHeadSize;
    const size_t pairs = static_cast<size_t>(heads) * n * n;
    const float scale = 0.125f;  // 1 / sqrt(kHeadSize)

    std::vector<float> queries(count), keys(count), values(count);
    for (size_t i = 0; i < count; ++i) {
        queries[i] = static_cast<float>(i * 7919 % 1009) * 0.002f - 1.0f;
        keys[i] = static_cast<float>(i * 6007 % 1013) * 0.002f - 1.0f;
        values[i] = static_cast<float>(i * 5003 % 1019) * 0.002f - 1.0f;
    }
    float* dQueries = toDevice(queries);
    float* dKeys = toDevice(keys);
    float* dValues = toDevice(values);
    float* dScores = deviceZeros<float>(pairs);
    float* dProbabilities = deviceZeros<float>(pairs);
    float* dNaive = deviceZeros<float>(count);
    float* dFused = deviceZeros<float>(count);

    const dim3 scoreBlock(kTile, kTile);
    const dim3 scoreGrid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile, heads);
    attentionScores<<<scoreGrid, scoreBlock>>>(dQueries, dKeys, dScores, scale, n);
    attentionSoftmax<<<heads * n, kSoftmaxThreads>>>(dScores, dProbabilities, n);
    const dim3 outputBlock(kHeadSize, 4);
    const dim3 outputGrid(1, (n + 3) / 4, heads);
    attentionOutput<<<outputGrid, outputBlock>>>(dProbabilities, dValues, dNaive, n);

    const dim3 fusedGrid((n + kQueries - 1) / kQueries, heads);
    attentionFused<<<fusedGrid, kQueries>>>(dQueries, dKeys, dValues, dFused, scale, n);

    const std::vector<float> naive = toHost(dNaive, count);
    const std::vector<float> fused = toHost(dFused, count);
    const int rows = heads * n;
    const int step = rows > 128 ? rows / 128 + 1 : 1;  // the reference checks about 128 queries
    bool ok = true;
    for (int row = 0; row < rows; row += step) {
        const size_t head = row / n;
        const size_t start = head * n * kHeadSize;
        const size_t own = static_cast<size_t>(row) * kHeadSize;
        const std::vector<double> expected =
            attend(queries.data() + own, keys.data() + start, values.data() + start, n);
        for (int i = 0; i < kHeadSize; ++i) {
            ok = ok && near(naive[own + i], expected[i], 1e-4) && near(fused[own + i], expected[i], 1e-4);
        }
    }
    cudaFree(dQueries);
    cudaFree(dKeys);
    cudaFree(dValues);
    cudaFree(dScores);
    cudaFree(dProbabilities);
    cudaFree(dNaive);
    cudaFree(dFused);
    return report(ok, "attention");
}
