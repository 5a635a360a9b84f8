// Difficulty: __ldg and __restrict__ loads are global loads; taking the address costs nothing.
__global__ void gather(const float* __restrict__ x, const int* __restrict__ index, float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = __ldg(&index[i]);
    y[i] = __ldg(x + at) - __ldg(&x[at + 1]);
}

void run(const float* x, const int* index, float* y) { gather<<<4, 32>>>(x, index, y); }
