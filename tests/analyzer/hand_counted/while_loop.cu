// Difficulty: while loop over the bits of a known number.
__global__ void countBits(int* out, int word) {
    int bits = 0;
    while (word != 0) {
        bits += word & 1;
        word >>= 1;
    }
    out[threadIdx.x] = bits;
}

void run(int* out) { countBits<<<1, 32>>>(out, 1000); }
