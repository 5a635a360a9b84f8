// Difficulty: dynamic shared memory, split in two arrays of different type.
__global__ void swapHalves(float* x, int* keys) {
    extern __shared__ char storage[];
    float* values = (float*)storage;
    int* order = (int*)(values + blockDim.x);
    int tid = threadIdx.x;
    values[tid] = x[tid];
    order[tid] = keys[tid];
    __syncthreads();
    int other = blockDim.x - 1 - tid;
    x[tid] = values[other];
    keys[tid] = order[other];
}

void run(float* x, int* keys) {
    const int threads = 128;
    swapHalves<<<1, threads, threads * (sizeof(float) + sizeof(int))>>>(x, keys);
}
