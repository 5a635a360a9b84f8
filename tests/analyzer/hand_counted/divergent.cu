// Difficulty: odd and even threads take different arms.
__global__ void oddEven(float* x) {
    int tid = threadIdx.x;
    if (tid % 2) {
        x[tid] = x[tid] + 1.0f;
    } else {
        x[tid] = (x[tid] - 1.0f) * 3.0f / 7.0f;
    }
}

void run(float* x) { oddEven<<<1, 128>>>(x); }
