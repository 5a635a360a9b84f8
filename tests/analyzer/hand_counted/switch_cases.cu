// Difficulty: switch on the thread number, with a fall-through and a default.
__global__ void dispatch(float* x) {
    int tid = threadIdx.x;
    float v = x[tid];
    switch (tid % 8) {
        case 0:
            v += 1.0f;
            break;
        case 1:
            v *= v;
        case 2:
            v -= 2.0f;
            break;
        case 3:
        case 4:
            v = v / 3.0f + v;
            break;
        default:
            v = sqrtf(v);
    }
    x[tid] = v;
}

void run(float* x) { dispatch<<<1, 64>>>(x); }
