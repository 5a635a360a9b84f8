// Difficulty: interleaved reduction, the stride doubles and the condition divides by it.
__global__ void reduceInterleaved(float* x) {
    int tid = threadIdx.x;
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) {
            x[tid] += x[tid + s];
        }
        __syncthreads();
    }
}

void run(float* x) { reduceInterleaved<<<1, 64>>>(x); }
