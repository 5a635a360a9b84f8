// Difficulty: the trip count is the thread's own number.
__global__ void prefix(const int* x, int* out) {
    int sum = 0;
    for (int i = 0; i <= threadIdx.x; ++i) {
        sum += x[i];
    }
    out[threadIdx.x] = sum;
}

void run(const int* x, int* out) { prefix<<<1, 96>>>(x, out); }
