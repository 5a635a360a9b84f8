"""CUDA texts of the tests."""

SAXPY = """\
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

LAUNCHED = SAXPY + "void run(float* x, float* y) { saxpy<<<4096, 256>>>(1 << 20, 2.0f, x, y); }\n"

LOOP = """\
__global__ void hops(const int* next, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = i, found = 0;
    while (next[at] != at) {
        at = next[at];
        found += n;
    }
    out[i] = found;
}
int main(int argc, char** argv) {
    int n = atoi(argv[1]);
    hops<<<n / 256, 256>>>(nullptr, nullptr, n);
}
"""
HOT = 2  # of SAXPY: the line (from 0) that draws most
