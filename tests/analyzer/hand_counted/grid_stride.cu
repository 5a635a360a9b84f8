// Difficulty: grid-stride loop whose trip count differs between threads.
__global__ void scale(float* x, float s, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        x[i] *= s;
    }
}

void run(float* x) { scale<<<4, 64>>>(x, 3.0f, 1000); }
