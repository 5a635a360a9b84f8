#include <math.h>
#define N (1 << 24)
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
__global__ void reduce(const float *in, float *out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    float v = 0.0f;
    for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x)
        v += in[i];
    s[t] = v;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
__global__ void transposeNaive(const float *in, float *out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    float v = in[y * n + x];
    out[x * n + y] = v;
}
__global__ void transposePadded(const float *in, float *out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16];
    __shared__ float bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int m = 0; m < n; m += 16) {
        as[ty][tx] = a[row * n + m + tx];
        bs[ty][tx] = b[(m + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
__global__ void stencil(const float *in, float *out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = 0.5f * in[y * n + x]
            + 0.125f * (in[y * n + x - 1]
            + in[y * n + x + 1]
            + in[(y - 1) * n + x]
            + in[(y + 1) * n + x]);
}
__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&s[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
__global__ void spmv(int rows, const int *ptr, const int *col, const float *val, const float *x, float *y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float sum = 0.0f;
        for (int j = ptr[r]; j < ptr[r + 1]; ++j)
            sum += val[j] * x[col[j]];
        y[r] = sum;
    }
}
__global__ void scan(const float *in, float *out) {
    __shared__ float s[512];
    int t = threadIdx.x, off = 1;
    int base = blockIdx.x * 512;
    s[2 * t] = in[base + 2 * t];
    s[2 * t + 1] = in[base + 2 * t + 1];
    for (int d = 256; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d)
            s[off * (2 * t + 2) - 1] += s[off * (2 * t + 1) - 1];
        off *= 2;
    }
    if (t == 0)
        s[511] = 0.0f;
    for (int d = 1; d < 512; d *= 2) {
        off >>= 1;
        __syncthreads();
        if (t < d) {
            float u = s[off * (2 * t + 1) - 1];
            s[off * (2 * t + 1) - 1] = s[off * (2 * t + 2) - 1];
            s[off * (2 * t + 2) - 1] += u;
        }
    }
    __syncthreads();
    out[base + 2 * t] = s[2 * t];
    out[base + 2 * t + 1] = s[2 * t + 1];
}
__global__ void softmax(const float *in, float *out, int n) {
    __shared__ float s[256];
    const float *row = in + blockIdx.x * n;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 256)
        m = fmaxf(m, row[i]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k)
            s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += expf(row[i] - m);
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    float scale = 1.0f / s[0];
    for (int i = threadIdx.x; i < n; i += 256)
        out[blockIdx.x * n + i] = expf(row[i] - m) * scale;
}
__global__ void nbody(const float4 *p, float4 *f, int n) {
    __shared__ float4 s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = p[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int tile = 0; tile < n; tile += 256) {
        s[threadIdx.x] = p[tile + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; ++j) {
            float4 o = s[j];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
            float d = dx * dx + dy * dy + dz * dz + 1e-6f;
            float r = rsqrtf(d);
            float w = o.w * r * r * r;
            ax += w * dx;
            ay += w * dy;
            az += w * dz;
        }
        __syncthreads();
    }
    f[i] = make_float4(ax, ay, az, 0.0f);
}
int main() {
    float *x, *y, *z; int *p; int n = N;
    saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
    reduce<<<1024, 256>>>(x, y, n);
    transposeNaive<<<dim3(128, 128), dim3(32, 32)>>>(x, y, 4096);
    transposePadded<<<dim3(128, 128), dim3(32, 32)>>>(x, y, 4096);
    matmul<<<dim3(128, 128), dim3(16, 16)>>>(x, y, z, 2048);
    stencil<<<dim3(128, 512), dim3(32, 8)>>>(x, y, 4096);
    histogram<<<640, 256>>>((unsigned char *)x, (unsigned *)y, n);
    spmv<<<4096, 256>>>(1 << 20, p, p, x, y, z);
    scan<<<32768, 256>>>(x, y);
    softmax<<<4096, 256>>>(x, y, 4096);
    nbody<<<256, 256>>>((float4 *)x, (float4 *)y, 65536);
}
