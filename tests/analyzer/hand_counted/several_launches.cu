// Difficulty: two launches of one kernel are two predictions.
__global__ void repeat(float* x, int rounds) {
    float v = x[threadIdx.x];
    for (int r = 0; r < rounds; ++r) {
        v = v * 1.5f + 0.25f;
    }
    x[threadIdx.x] = v;
}

void run(float* x) {
    int rounds = 10;
    repeat<<<1, 64>>>(x, rounds);
    rounds *= 10;
    repeat<<<2, 32>>>(x, rounds);
}
