// Difficulty: tree reduction, the number of active threads halves every pass.
__global__ void reduce(const float* x, float* sums) {
    __shared__ float cache[128];
    int tid = threadIdx.x;
    cache[tid] = x[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            cache[tid] += cache[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        sums[blockIdx.x] = cache[0];
    }
}

void run(const float* x, float* sums) { reduce<<<3, 128>>>(x, sums); }
