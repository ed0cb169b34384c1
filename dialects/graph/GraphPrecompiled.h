// Headers that nearly every file on the graph dialect includes; see cmake/KpcMlir.cmake.
#include "cmake/MlirPrecompiled.h"
#include "dialects/graph/Graph.h"
