// Difficulty: a union reinterprets registers (free) and memory (one access per member access).
union Bits {
    float f;
    unsigned int u;
};

__global__ void flipSign(Bits* x) {
    int i = threadIdx.x;
    Bits local;
    local.f = x[i].f;
    local.u ^= 0x80000000u;
    x[i].u = local.u;
    local.f += 1.0f;
    x[i].f *= local.f;
}

void run(Bits* x) { flipSign<<<1, 64>>>(x); }
