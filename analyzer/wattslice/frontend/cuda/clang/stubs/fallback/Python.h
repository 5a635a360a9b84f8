// The interpreter of Python, as extensions name it in host code.
#pragma once
typedef struct ws_object PyObject;
#define PyMODINIT_FUNC extern "C" PyObject*
