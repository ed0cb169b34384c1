// Writes the runtime tests' sample model.   kpc_write_sample FILE

#include "test/unit/runtime/Sample.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  auto Error =
      kpc::artifact::write(kpc::test::sampleContents(), std::string(argv[1]));
  if (Error)
    std::fprintf(stderr, "%s\n", Error->c_str());
  return Error ? 1 : 0;
}
