// Difficulty: an unrolled loop is counted as written.
__global__ void dot8(const float* a, const float* b, float* out) {
    int i = threadIdx.x;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 8; ++k) {
        sum = fmaf(a[i * 8 + k], b[k], sum);
    }
    out[i] = sum;
}

void run(const float* a, const float* b, float* out) { dot8<<<3, 32>>>(a, b, out); }
