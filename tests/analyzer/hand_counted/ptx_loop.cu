// Difficulty: loads and stores of inline PTX in a loop, out of macros, as vectors and with offsets.
#define LOAD(value, pointer) asm volatile("ld.global" ".cg.f32 %0, [%1];" : "=f"(value) : "l"(pointer))
#define STORE(pointer, a, b) asm volatile("st.global.v2.f32 [%0+8], {%1, %2};" ::"l"(pointer), "f"(a), "f"(b) : "memory")

__global__ void ptxLoop(const float* x, float2* y, int n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        float value;
        LOAD(value, x + k * 64 + threadIdx.x);
        sum += value;
    }
    STORE(y + threadIdx.x, sum, sum);
}

void run(const float* x, float2* y) { ptxLoop<<<2, 64>>>(x, y, 12); }
