"""What the files of a build say of its programs: how they are run, and how a source is compiled.

Makefiles, CMakeLists.txt and scripts are read as texts: nothing of them is run, no shell, make or cmake.
"""
