// Difficulty: atomics on shared and global memory count as atomics only.
__global__ void histogram(const unsigned char* data, unsigned int* bins, int* largest, int n) {
    __shared__ unsigned int local[64];
    int tid = threadIdx.x;
    local[tid] = 0;
    __syncthreads();
    for (int i = tid; i < n; i += blockDim.x) {
        atomicAdd(&local[data[i] >> 2], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[tid], local[tid]);
    atomicMax(largest, tid);
}

void run(const unsigned char* data, unsigned int* bins, int* largest) { histogram<<<2, 64>>>(data, bins, largest, 300); }
