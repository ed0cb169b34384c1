#include "Cases.h"
namespace kpc::testing {
std::vector<Case> transposeCases() { return {}; }
} // namespace kpc::testing
