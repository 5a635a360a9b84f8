#pragma once
#include "wattslice_libraries.h"
