// Difficulty: integers of every width are int; casts, ! and unary plus are free.
__global__ void hash(const unsigned char* bytes, unsigned long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = 14695981039346656037ull;
    for (int k = 0; k < n; ++k) {
        state ^= (unsigned long long)bytes[i * n + k];
        state *= 1099511628211ull;
        state = (state << 13) | (state >> 51);
    }
    if (!(i & 1)) {
        state = ~state;
    }
    out[i] = min(state, (unsigned long long)abs(-i));
}

void run(const unsigned char* bytes, unsigned long long* out) { hash<<<2, 32>>>(bytes, out, 5); }
