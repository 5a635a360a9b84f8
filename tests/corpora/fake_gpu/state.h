// What the stand-ins share: since when and until when the "GPU" is busy, at how many watts above idle, and what that
// took before.
// Launches queued up to half a second late run as if they had come in time: a test machine may be under load.
#pragma once

#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

constexpr long long kGraceNs = 500000000;

struct State {
    long long busyFromNs;
    long long busyUntilNs;
    double aboveIdleW;
    double doneJ;  // above idle, of all that was before
};

inline State* mapState() {
    const int file = open(getenv("FAKE_GPU_STATE"), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(State)) != 0) {
        abort();
    }
    return static_cast<State*>(mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
}

inline long long monotonicNs() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
