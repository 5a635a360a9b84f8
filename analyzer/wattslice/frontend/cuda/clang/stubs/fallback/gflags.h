#include "gflags/gflags.h"
