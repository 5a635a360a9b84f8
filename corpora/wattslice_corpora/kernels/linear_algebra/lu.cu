// LU decomposition without pivoting, in place, right-looking in tiles of 32: factor the tile on the diagonal,
// solve the panels beside and below it, update the rest. Nearly all work is in the update, a matrix product;
// the one block on the diagonal leaves the GPU idle.
// Usage: lu [n]    (n a multiple of 32)
#include "matrices.cuh"

constexpr int kTile = 32;
constexpr int kRowsPerPass = 8;

// One block, one element per thread: the tile becomes L (unit diagonal, not stored) and U.
__global__ void factorDiagonal(float* a, int n, int start) {
    __shared__ float tile[kTile][kTile];
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int at = (start + y) * n + start + x;
    tile[y][x] = a[at];
    for (int k = 0; k < kTile - 1; ++k) {
        __syncthreads();
        if (x == k && y > k) {
            tile[y][k] /= tile[k][k];
        }
        __syncthreads();
        if (x > k && y > k) {
            tile[y][x] -= tile[y][k] * tile[k][x];
        }
    }
    a[at] = tile[y][x];
}

// A tile right of the diagonal becomes L^-1 times itself: one thread per column.
__global__ void solveRowPanel(float* a, int n, int start) {
    __shared__ float lower[kTile][kTile];
    __shared__ float tile[kTile][kTile];
    const int x = threadIdx.x;
    const int first = start + (blockIdx.x + 1) * kTile;
    for (int row = 0; row < kTile; ++row) {
        lower[row][x] = a[(start + row) * n + start + x];
        tile[row][x] = a[(start + row) * n + first + x];
    }
    __syncthreads();
    for (int row = 1; row < kTile; ++row) {
        float value = tile[row][x];
        for (int k = 0; k < row; ++k) {
            value -= lower[row][k] * tile[k][x];
        }
        tile[row][x] = value;
    }
    for (int row = 1; row < kTile; ++row) {
        a[(start + row) * n + first + x] = tile[row][x];
    }
}

// A tile below the diagonal becomes itself times U^-1: one thread per row, padded against bank conflicts.
__global__ void solveColumnPanel(float* a, int n, int start) {
    __shared__ float upper[kTile][kTile];
    __shared__ float tile[kTile][kTile + 1];
    const int x = threadIdx.x;
    const int first = start + (blockIdx.x + 1) * kTile;
    for (int row = 0; row < kTile; ++row) {
        upper[row][x] = a[(start + row) * n + start + x];
        tile[row][x] = a[(first + row) * n + start + x];
    }
    __syncthreads();
    for (int column = 0; column < kTile; ++column) {
        float value = tile[x][column];
        for (int k = 0; k < column; ++k) {
            value -= tile[x][k] * upper[k][column];
        }
        tile[x][column] = value / upper[column][column];
    }
    __syncthreads();
    for (int row = 0; row < kTile; ++row) {
        a[(first + row) * n + start + x] = tile[row][x];
    }
}

// A tile of the rest loses the product of its two panels: four elements per thread.
__global__ void updateRest(float* a, int n, int start) {
    __shared__ float left[kTile][kTile];
    __shared__ float top[kTile][kTile];
    const int x = threadIdx.x;
    const int firstRow = start + (blockIdx.y + 1) * kTile;
    const int firstColumn = start + (blockIdx.x + 1) * kTile;
    for (int row = threadIdx.y; row < kTile; row += kRowsPerPass) {
        left[row][x] = a[(firstRow + row) * n + start + x];
        top[row][x] = a[(start + row) * n + firstColumn + x];
    }
    __syncthreads();
    for (int row = threadIdx.y; row < kTile; row += kRowsPerPass) {
        float sum = 0.0f;
        for (int k = 0; k < kTile; ++k) {
            sum += left[row][k] * top[k][x];
        }
        a[(firstRow + row) * n + firstColumn + x] -= sum;
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    if (n % kTile != 0) {
        fprintf(stderr, "n must be a multiple of %d\n", kTile);
        return 1;
    }
    const size_t count = static_cast<size_t>(n) * n;
    std::vector<float> a = uniform(count, 1u);
    for (int i = 0; i < n; ++i) {
        a[static_cast<size_t>(i) * n + i] += static_cast<float>(n);  // dominant: no pivoting needed
    }
    float* dA = toDevice(a);

    const dim3 square(kTile, kTile);
    const dim3 flat(kTile, kRowsPerPass);
    for (int start = 0; start < n; start += kTile) {
        factorDiagonal<<<1, square>>>(dA, n, start);
        const int rest = (n - start) / kTile - 1;
        if (rest > 0) {
            solveRowPanel<<<rest, kTile>>>(dA, n, start);
            solveColumnPanel<<<rest, kTile>>>(dA, n, start);
            updateRest<<<dim3(rest, rest), flat>>>(dA, n, start);
        }
    }

    // L times U must be A again; about 16 rows are looked at.
    const std::vector<float> lu = toHost(dA, count);
    std::vector<double> product(n);
    bool ok = true;
    for (size_t row = 0; row < static_cast<size_t>(n); row += 1 + n / 16) {
        std::fill(product.begin(), product.end(), 0.0);
        for (size_t k = 0; k <= row; ++k) {
            const double factor = k == row ? 1.0 : lu[row * n + k];
            for (size_t column = k; column < static_cast<size_t>(n); ++column) {
                product[column] += factor * lu[k * n + column];
            }
        }
        for (int column = 0; column < n; ++column) {
            ok = ok && near(product[column], a[row * n + column], 1e-4);
        }
    }
    cudaFree(dA);
    return report(ok, "lu");
}
