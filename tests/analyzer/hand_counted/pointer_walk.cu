// Difficulty: pointers that move.
__global__ void copyBackwards(const float* from, float* to, int n) {
    const float* p = from + threadIdx.x * n;
    float* q = to + (threadIdx.x + 1) * n;
    const float* end = p + n;
    while (p < end) {
        *--q = *p++;
    }
}

void run(const float* from, float* to) { copyBackwards<<<1, 32>>>(from, to, 6); }
