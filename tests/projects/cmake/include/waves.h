#pragma once
struct Options {
    int cells;
    int threads;
};
extern int steps;
Options parse(int argc, char **argv);
void run(float *from, float *to, const Options &options);
