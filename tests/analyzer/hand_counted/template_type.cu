// Difficulty: a type parameter decides between fp32 and fp64.
template <typename T>
__global__ void axpy(T a, const T* x, T* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += a * x[i];
}

void run(const float* xf, float* yf, const double* xd, double* yd) {
    axpy<float><<<4, 64>>>(2.0f, xf, yf);
    axpy<<<2, 32>>>(2.0, xd, yd);
}
