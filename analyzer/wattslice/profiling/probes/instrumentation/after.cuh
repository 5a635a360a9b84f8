
// Written by wattslice: the counts go to the file $WATTSLICE_COUNTS, without that to wattslice-counts.txt.
#include <cstdio>
#include <cstdlib>
namespace wattslice_probes {
struct Row {
    const char* text;  // file, kernel, line, column, kind, labels
    unsigned first, counters;
};
static const Row rows[] = {
@ROWS@};
static unsigned long long totals[(kKernels + 1) * kCounters];
static bool failed = false, reported = false;

static void collect() {
    static unsigned long long now[(kKernels + 1) * kCounters];
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) {
        error = cudaMemcpyFromSymbol(now, counts, sizeof now, 0, cudaMemcpyDeviceToHost);
    }
    if (error != cudaSuccess) {
        fprintf(stderr, "wattslice: the counters cannot be read: %s\n", cudaGetErrorString(error));
        failed = true;
        return;
    }
    for (unsigned i = 0; i < (kKernels + 1) * kCounters; ++i) {
        totals[i] += now[i];
        now[i] = 0;
    }
    cudaMemcpyToSymbol(counts, now, sizeof now, 0, cudaMemcpyHostToDevice);
}

static void report() {
    if (reported) {
        return;
    }
    reported = true;
    collect();
    const char* name = getenv("WATTSLICE_COUNTS");
    name = name == nullptr || *name == '\0' ? "wattslice-counts.txt" : name;
    FILE* file = failed ? nullptr : fopen(name, "w");
    if (file == nullptr) {
        fprintf(stderr, "wattslice: no counts in %s\n", name);
        return;
    }
    fprintf(file, "wattslice-counts 1\n%s\n%s\n", "@FILE@", "@SHA256@");
    for (const Row& row : rows) {
        fputs(row.text, file);
        for (unsigned i = 0; i < row.counters; ++i) {
            fprintf(file, "\t%llu", totals[row.first + i]);
        }
        fputs("\n", file);
    }
    fclose(file);
}

Reporter::Reporter() {
    int devices = 0;
    cudaGetDeviceCount(&devices);  // the runtime's own work at exit is registered before, and so done after, ours
    atexit(report);
}
Reporter::~Reporter() { report(); }
@INSTANCE@}  // namespace wattslice_probes
