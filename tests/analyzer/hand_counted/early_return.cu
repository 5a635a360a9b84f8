// Difficulty: a device function that returns early, for known threads.
__device__ float shrink(float value, int i, int margin) {
    if (i < margin) {
        return 0.0f;
    }
    return value * 0.5f - 1.0f;
}

__global__ void shrinkAll(const float* x, float* y) {
    int i = threadIdx.x;
    if (i >= 96) return;
    y[i] = shrink(x[i], i, 16);
}

void run(const float* x, float* y) { shrinkAll<<<2, 128>>>(x, y); }
