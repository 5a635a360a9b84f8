// Difficulty: local arrays are registers, device scalars are global memory, references alias.
__device__ int calls;

__device__ void addTo(float& target, float value) { target += value; }

__global__ void window(const float* x, float* y) {
    int i = threadIdx.x;
    float last[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < 12; ++k) {
        last[k % 4] = x[i + k];
    }
    addTo(y[i], last[0] + last[1] + last[2] + last[3]);
    addTo(last[0], 1.0f);
    if (i == 0) {
        calls = calls + 1;
    }
}

void run(const float* x, float* y) { window<<<1, 32>>>(x, y); }
