// Difficulty: a device function that calls itself, with a known argument.
__device__ int factorial(int k) {
    if (k <= 1) {
        return 1;
    }
    return k * factorial(k - 1);
}

__global__ void factorials(int* out) { out[threadIdx.x] = factorial(5); }

void run(int* out) { factorials<<<1, 32>>>(out); }
