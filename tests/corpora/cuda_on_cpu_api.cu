// What programs call beyond kernels: the host's API, textures, cooperative groups, older and newer functions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_profiler_api.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

static int failures = 0;
#define CHECK(CONDITION)                                          \
    do {                                                          \
        if (!(CONDITION)) {                                       \
            ++failures;                                           \
            printf("line %d: %s\n", __LINE__, #CONDITION);        \
        }                                                         \
    } while (false)

__constant__ float weights[4];
__device__ int total;

__global__ void add(const int* a, int* b, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i] + (int)weights[3];
    if (i == 0) total = n;
}

void memory_and_launches() {
    cudaDeviceProp prop;
    int device = 9, major = 0, blocks = 0, grid = 0, block = 0;
    CHECK(cudaGetDevice(&device) == cudaSuccess && device == 0);
    CHECK(cudaGetDeviceProperties(&prop, device) == cudaSuccess && prop.warpSize == 32 && prop.multiProcessorCount > 0);
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == prop.major);
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1000, 0) == cudaSuccess && blocks == 2);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add) == cudaSuccess && block == 1024);
    cudaFuncSetCacheConfig(add, cudaFuncCachePreferL1);
    cudaProfilerStart();

    cudaStream_t stream;
    cudaEvent_t start, stop;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    int *a, *b, n = 100;
    cudaMallocManaged(&a, n * sizeof(int));
    cudaHostAlloc((void**)&b, n * sizeof(int), cudaHostAllocMapped);
    for (int i = 0; i < n; ++i) a[i] = i, b[i] = 1;
    const float host[4] = {1, 2, 3, 4};
    CHECK(cudaMemcpyToSymbol(weights, host, sizeof host) == cudaSuccess);
    CHECK(cudaMemcpyToSymbol(weights, host, 20) == cudaErrorInvalidValue && cudaGetLastError() != cudaSuccess);
    cudaEventRecord(start, stream);
    add<<< 2, 64, 0, stream >>>(a, b, n);
    void* arguments[] = {&a, &b, &n};
    CHECK(cudaLaunchKernel((void*)add, dim3(2), dim3(64), arguments, 0, stream) == cudaSuccess);
    cudaEventRecord(stop, stream);
    CHECK(cudaThreadSynchronize() == cudaSuccess && b[5] == 1 + 2 * (5 + 4));
    float ms = -1;
    int seen = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop) == cudaSuccess && ms >= 0);
    CHECK(cudaMemcpyFromSymbol(&seen, total, sizeof seen) == cudaSuccess && seen == n);
    add<<<1, 2000>>>(a, b, n);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
    CHECK(strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    CHECK(cudaFree(a) == cudaSuccess && cudaFree(a) == cudaErrorInvalidValue && cudaFree(nullptr) == cudaSuccess);
    cudaFreeHost(b);

    char *pitched, back[3][5] = {}, from[3][5] = {"abcd", "efgh", "ijkl"};
    size_t pitch = 0;
    cudaMallocPitch(&pitched, &pitch, 5, 3);
    CHECK(pitch >= 5 && pitch % 32 == 0);
    cudaMemcpy2D(pitched, pitch, from, 5, 5, 3, cudaMemcpyHostToDevice);
    cudaMemset2D(pitched + pitch, pitch, 'x', 2, 2);
    cudaMemcpy2D(back, 5, pitched, pitch, 5, 3, cudaMemcpyDeviceToHost);
    CHECK(strcmp(back[0], "abcd") == 0 && strcmp(back[1], "xxgh") == 0 && strcmp(back[2], "xxkl") == 0);
    CHECK(cudaMemcpy2D(pitched, 4, from, 5, 5, 3, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
    cudaFree(pitched);
}

texture<float, 1, cudaReadModeElementType> line;
texture<unsigned char, 2, cudaReadModeNormalizedFloat> plane;

__global__ void sample(cudaTextureObject_t image, float* out) {
    out[0] = tex1Dfetch(line, 2);
    out[1] = tex2D(plane, 1.5f, 0.5f);
    out[2] = tex2D<float>(image, 1.0f, 0.5f);    // half way between the first two texels
    out[3] = tex2D<float>(image, -3.0f, 1.5f);   // clamped to the first of the second row
}

void textures() {
    float *values, *out, host[4] = {10, 20, 30, 40};
    cudaMalloc(&values, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
    cudaBindTexture(nullptr, line, values, sizeof host);
    const unsigned char bytes[2] = {0, 255};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    cudaArray *small, *image;
    cudaMallocArray(&small, &format, 2, 1);
    cudaMemcpyToArray(small, 0, 0, bytes, 2, cudaMemcpyHostToDevice);
    cudaBindTextureToArray(plane, small);
    format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaMallocArray(&image, &format, 2, 2);
    cudaMemcpy2DToArray(image, 0, 0, host, 8, 8, 2, cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = image;
    cudaTextureDesc sampling = {};
    sampling.addressMode[0] = sampling.addressMode[1] = cudaAddressModeClamp;
    sampling.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t object;
    cudaCreateTextureObject(&object, &resource, &sampling, nullptr);
    sample<<<1, 1>>>(object, out);
    CHECK(out[0] == 30 && out[1] == 1.0f && out[2] == 15 && out[3] == 30);
    cudaDestroyTextureObject(object);
    cudaUnbindTexture(line);
}

__global__ void groups(int* out) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    const int i = block.thread_rank();
    out[i] = cg::reduce(tile, i, cg::plus<int>());
    out[64 + i] = tile.shfl_down(i, 1);
    out[128 + i] = tile.meta_group_rank() * 100 + cg::inclusive_scan(tile, 1);
    if (i % 3 == 0) {
        auto here = cg::coalesced_threads();
        out[192 + i] = here.size() * 100 + here.thread_rank();
        out[256 + i] = __popc(__ballot(1)) + __shfl(i, 0);
    } else {
        out[192 + i] = __popc(__activemask());
        out[256 + i] = 0;
    }
    cg::sync(block);
}

void cooperative() {
    int* out;
    cudaMalloc(&out, 5 * 64 * sizeof(int));
    groups<<<1, 64>>>(out);
    for (int i = 0; i < 64; ++i) {
        const int first = i / 8 * 8, inWarp = 11;  // multiples of 3 in each warp
        CHECK(out[i] == 8 * first + 28);
        CHECK(out[64 + i] == (i % 8 == 7 ? i : i + 1));
        CHECK(out[128 + i] == i / 8 * 100 + i % 8 + 1);
        if (i % 3 == 0) {
            CHECK(out[192 + i] == inWarp * 100 + (i < 32 ? i / 3 : i / 3 - 11));
        } else {
            CHECK(out[192 + i] == 32 - inWarp);
        }
        CHECK(i >= 32 || out[256 + i] == (i % 3 == 0 ? 11 : 0));
    }
}

__global__ void numbers(float* out) {
    out[0] = __bfloat162float(__float2bfloat16(1.0f + 1.0f / 512));  // rounds to even
    out[1] = __hiloint2double(0x40080000, 0);
    out[2] = __fdividef(6.0f, 4.0f);
    out[3] = __usad4(0x01020304u, 0x04030201u);
}

void arithmetic() {
    float* out;
    cudaMalloc(&out, 16);
    numbers<<<1, 1>>>(out);
    CHECK(out[0] == 1.0f && out[1] == 3.0f && out[2] == 1.5f && out[3] == 8.0f);
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2}, one = 1, zero = 0;  // a: 2 x 3 by columns
    float c[2] = {NAN, NAN};
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 3, &one, a, 2, b, 3, &zero, c, 2);
    CHECK(c[0] == 11 && c[1] == 14);
    cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 2, 1, 3, &one, a, 3, b, 3, &one, c, 2);
    CHECK(c[0] == 11 + 7 && c[1] == 14 + 16);
}

int main() {
    memory_and_launches();
    textures();
    cooperative();
    arithmetic();
    return failures;
}
