// Levenshtein distances of one word of 32 letters from many texts, a warp per text: each lane owns a letter
// of the word, hence a row of the table, and the anti-diagonals move from lane to lane by shuffles, all in
// registers. Integer minima along a dependence chain, lanes idle only at the start and the end.
// Usage: edit_distance [texts] [length]
#include "../common.cuh"

constexpr int kWord = 32;
constexpr int kThreads = 256;
constexpr int kTextsPerBlock = kThreads / 32;

__global__ void editDistance(const char* word, const char* texts, int* distances, int count, int length) {
    const int text = blockIdx.x * kTextsPerBlock + threadIdx.x / 32;
    if (text >= count) {
        return;
    }
    const int lane = threadIdx.x % 32;
    const char letter = word[lane];
    const char* letters = texts + text * length;
    int here = lane + 1;  // distance of the word's first lane + 1 letters from the empty text
    int diagonal = lane;
    for (int step = 0; step < length + kWord - 1; ++step) {
        const int shuffled = __shfl_up_sync(0xffffffffu, here, 1);
        const int above = lane == 0 ? step + 1 : shuffled;
        const int i = step - lane;
        if (i >= 0 && i < length) {
            const int substituted = diagonal + (letter != letters[i]);
            here = min(substituted, min(above, here) + 1);
            diagonal = above;
        }
    }
    if (lane == 31) {
        distances[text] = here;
    }
}

int reference(const std::vector<char>& word, const char* text, int length) {
    std::vector<int> row(length + 1);
    for (int i = 0; i <= length; ++i) {
        row[i] = i;
    }
    for (const char letter : word) {
        int diagonal = row[0]++;
        for (int i = 1; i <= length; ++i) {
            const int substituted = diagonal + (letter != text[i - 1]);
            diagonal = row[i];
            row[i] = std::min(substituted, std::min(row[i], row[i - 1]) + 1);
        }
    }
    return row[length];
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 65536;
    const int length = argc > 2 ? atoi(argv[2]) : 64;
    const int blocks = (count + kTextsPerBlock - 1) / kTextsPerBlock;

    std::vector<char> word(kWord), texts(static_cast<size_t>(count) * length);
    for (int i = 0; i < kWord; ++i) {
        word[i] = static_cast<char>('a' + i * 7 % 26);
    }
    for (size_t i = 0; i < texts.size(); ++i) {  // the word, garbled
        const unsigned hash = static_cast<unsigned>(i) * 2654435761u;
        texts[i] = hash >> 30 == 0 ? static_cast<char>('a' + (hash >> 20) % 26) : word[i % kWord];
    }
    const char* dWord = toDevice(word);
    const char* dTexts = toDevice(texts);
    int* dDistances = deviceZeros<int>(count);

    editDistance<<<blocks, kThreads>>>(dWord, dTexts, dDistances, count, length);

    const std::vector<int> distances = toHost(dDistances, count);
    bool ok = true;
    for (int text = 0; text < count; text += 1 + count / 16384) {  // a sample of many texts
        ok = ok && distances[text] == reference(word, &texts[static_cast<size_t>(text) * length], length);
    }
    return report(ok, "distances");
}
