// Difficulty: a float4 is one access and four values.
__global__ void scale4(const float4* x, float4* y, float s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = x[i];
    v.x *= s;
    v.y *= s;
    v.z *= s;
    v.w = v.w * s + v.x;
    y[i] = v;
    y[i].w = 0.0f;
}

void run(const float4* x, float4* y) { scale4<<<2, 64>>>(x, y, 2.0f); }
