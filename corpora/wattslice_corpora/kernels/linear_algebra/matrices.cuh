// Inputs and checks that the programs of this family share.
#pragma once

#include "../common.cuh"

// Values spread evenly over [-1, 1), the same in every run: the high bits of a linear congruential generator.
inline std::vector<float> uniform(size_t count, unsigned int seed) {
    std::vector<float> values(count);
    unsigned int state = seed;
    for (float& value : values) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
    }
    return values;
}

// Whether c = a b for n x n matrices, row after row; of a large matrix about 16 rows are looked at.
inline bool isProduct(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c, int n) {
    std::vector<double> expected(n);
    for (size_t row = 0; row < static_cast<size_t>(n); row += 1 + n / 16) {
        std::fill(expected.begin(), expected.end(), 0.0);
        for (int k = 0; k < n; ++k) {
            for (int column = 0; column < n; ++column) {
                expected[column] += static_cast<double>(a[row * n + k]) * b[static_cast<size_t>(k) * n + column];
            }
        }
        for (int column = 0; column < n; ++column) {
            if (!near(c[row * n + column], expected[column], 1e-3)) {
                return false;
            }
        }
    }
    return true;
}
