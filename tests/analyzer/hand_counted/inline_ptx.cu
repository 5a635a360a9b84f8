// Difficulty: inline PTX, counted by the class of each mnemonic.
__global__ void ptxMath(const float* x, float* y) {
    int i = threadIdx.x;
    float a;
    float b;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(a) : "l"(x + i));
    asm("fma.rn.f32 %0, %1, %1, %1;" : "=f"(b) : "f"(a));
    asm("{\n\t"
        "add.f32 %0, %1, %1;\n\t"
        "mul.f32 %0, %0, %1;\n\t"
        "}"
        : "=f"(a)
        : "f"(b));
    asm volatile("bar.sync 0;");
    y[i] = a;
}

void run(const float* x, float* y) { ptxMath<<<1, 64>>>(x, y); }
