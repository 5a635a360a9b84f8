#pragma once  // host-side names of this library are declared on the fly
