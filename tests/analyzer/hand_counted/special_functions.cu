// Difficulty: what is special and what is not.
__global__ void functions(const float* x, float* y, double* z) {
    int i = threadIdx.x;
    float v = fabsf(x[i]);
    v = fminf(expf(v), 100.0f) / (1.0f + __expf(-v));
    v = powf(v, 0.3f) + rsqrtf(v) + fmaf(v, v, v);
    y[i] = fmaxf(v, sinf(v));
    z[i] = sqrt((double)v) * 2.0 + fma((double)v, 3.0, 1.0);
}

void run(const float* x, float* y, double* z) { functions<<<1, 64>>>(x, y, z); }
