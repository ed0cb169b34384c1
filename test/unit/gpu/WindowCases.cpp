#include "Cases.h"
namespace kpc::testing {
std::vector<Case> windowCases() { return {}; }
} // namespace kpc::testing
