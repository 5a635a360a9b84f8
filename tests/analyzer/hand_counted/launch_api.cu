// Difficulty: launched through cudaLaunchKernel.
__global__ void fill(float* x, float value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = value;
    }
}

void run(float* x) {
    float value = 1.0f;
    int n = 90;
    void* arguments[] = {&x, &value, &n};
    cudaLaunchKernel((const void*)fill, dim3(3), dim3(32), arguments, 0, 0);
}
