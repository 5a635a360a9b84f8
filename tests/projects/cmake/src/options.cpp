#include "waves.h"
#include <getopt.h>
#include <stdlib.h>

int steps = 50;

Options parse(int argc, char **argv)
{
    static const option known[] = {{"cells", required_argument, 0, 'c'}, {"threads", required_argument, 0, 't'}, {0, 0, 0, 0}};
    Options options = {4096, 256};
    for (int letter; (letter = getopt_long(argc, argv, "c:t:", known, 0)) != -1;) {
        if (letter == 'c') options.cells = atoi(optarg);
        if (letter == 't') options.threads = atoi(optarg);
    }
    return options;
}
