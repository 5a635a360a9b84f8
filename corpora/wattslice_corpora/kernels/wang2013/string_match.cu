// String matching like grep: one thread per line of text looks for a pattern with '.', 'x*', '^', '$'.
// The pattern lies in constant memory. Nearly every step is a branch that depends on the data.
// Usage: string_match [lines]
#include <cstring>
#include <string>

#include "../common.cuh"

constexpr int kThreads = 128;
constexpr int kMaxPattern = 64;
constexpr int kMaxStars = kMaxPattern / 2;

__constant__ char pattern[kMaxPattern];  // ends with 0

// Does the pattern, from its position `p`, match the text that starts at `t`? Every star first takes
// nothing; when the rest fails, the latest star that still can takes one character more.
__device__ bool matchHere(const char* text, int t, int end, int p) {
    int starPattern[kMaxStars];  // positions of the starred characters met so far
    int starText[kMaxStars];     // and the first character that each has not taken yet
    int stars = 0;
    for (;;) {
        const char want = pattern[p];
        if (want == 0) {
            return true;
        }
        if (pattern[p + 1] == '*') {
            starPattern[stars] = p;
            starText[stars] = t;
            ++stars;
            p += 2;
        } else if (want == '$' && pattern[p + 1] == 0 && t == end) {
            return true;
        } else if (t < end && (want == '.' || want == text[t])) {
            ++p;
            ++t;
        } else {
            while (stars > 0) {
                const char starred = pattern[starPattern[stars - 1]];
                const int next = starText[stars - 1];
                if (next < end && (starred == '.' || starred == text[next])) {
                    break;
                }
                --stars;
            }
            if (stars == 0) {
                return false;
            }
            t = ++starText[stars - 1];
            p = starPattern[stars - 1] + 2;
        }
    }
}

__global__ void stringMatch(const char* text, const int* lineStart, unsigned char* matched, int lines) {
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) {
        return;
    }
    const int begin = lineStart[line];
    const int end = lineStart[line + 1];
    bool found = false;
    if (pattern[0] == '^') {
        found = matchHere(text, begin, end, 1);
    } else {
        for (int t = begin; t <= end && !found; ++t) {
            found = matchHere(text, t, end, 0);
        }
    }
    matched[line] = found ? 1 : 0;
}

// The reference: plain recursion over pattern and text.
static bool referenceHere(const char* p, const char* text, const char* end) {
    if (*p == 0) {
        return true;
    }
    if (p[1] == '*') {
        for (const char* t = text;; ++t) {
            if (referenceHere(p + 2, t, end)) {
                return true;
            }
            if (t == end || (*p != '.' && *p != *t)) {
                return false;
            }
        }
    }
    if (*p == '$' && p[1] == 0 && text == end) {
        return true;
    }
    return text < end && (*p == '.' || *p == *text) && referenceHere(p + 1, text + 1, end);
}

static bool reference(const char* p, const char* text, const char* end) {
    if (*p == '^') {
        return referenceHere(p + 1, text, end);
    }
    for (;; ++text) {
        if (referenceHere(p, text, end)) {
            return true;
        }
        if (text == end) {
            return false;
        }
    }
}

int main(int argc, char** argv) {
    const int lines = argc > 1 ? atoi(argv[1]) : 1 << 16;
    const char* patterns[] = {"error", "^warn", "er*o.*7", "a.c*d$", "x*y*z$", "^a*.*ac*d", "^[.*ms$"};

    std::string text;
    std::vector<int> lineStart(lines + 1);
    const char* words[] = {"error ", "warning ", "abcd ", "acccd", "[17 ms", "eroo 7 ", "xyz", "note "};
    unsigned int state = 1u;
    for (int line = 0; line < lines; ++line) {
        lineStart[line] = static_cast<int>(text.size());
        state = state * 1664525u + 1013904223u;
        for (unsigned int w = 0; w < 1 + (state >> 30); ++w) {
            state = state * 1664525u + 1013904223u;
            text += words[state >> 29];
        }
    }
    lineStart[lines] = static_cast<int>(text.size());

    char* dText = toDevice(std::vector<char>(text.begin(), text.end()));
    int* dLineStart = toDevice(lineStart);
    unsigned char* dMatched = deviceZeros<unsigned char>(lines);

    bool ok = true;
    for (const char* wanted : patterns) {
        char padded[kMaxPattern] = {};
        strncpy(padded, wanted, kMaxPattern - 2);
        CUDA_CHECK(cudaMemcpyToSymbol(pattern, padded, kMaxPattern));
        stringMatch<<<(lines + kThreads - 1) / kThreads, kThreads>>>(dText, dLineStart, dMatched, lines);
        const std::vector<unsigned char> matched = toHost(dMatched, lines);
        int count = 0;
        for (int line = 0; line < lines; ++line) {
            const bool expected = reference(wanted, text.data() + lineStart[line], text.data() + lineStart[line + 1]);
            ok = ok && expected == (matched[line] != 0);
            count += matched[line];
        }
        printf("%-10s %d of %d lines\n", wanted, count, lines);
    }
    cudaFree(dText);
    cudaFree(dLineStart);
    cudaFree(dMatched);
    return report(ok, "string_match");
}
