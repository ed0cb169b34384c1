// Runs a compiled model on zeros and prints what comes out.
//
//   embed_cpp model.kpc

#include <kpc/runtime.hpp>

#include <cstdio>
#include <map>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed_cpp model.kpc\n");
    return 2;
  }
  auto model = kpc::Model::load(argv[1]);
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().text().c_str());
    return 1;
  }
  // The host; for a GPU: {.device = kpc::cuda(0)}.
  auto session = model->session();
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().text().c_str());
    return 1;
  }

  // Dims that are chosen at run time get their least value.
  std::map<std::string, int64_t> chosen;
  for (const kpc_symbol &symbol : model->symbols())
    chosen[symbol.name] = symbol.min > 0 ? symbol.min : 1;
  std::vector<std::vector<char>> storage;
  std::vector<kpc::NamedTensor> inputs;
  for (const kpc_port &port : model->inputs()) {
    std::vector<int64_t> dims;
    for (int32_t i = 0; i < port.rank; ++i)
      dims.push_back(port.dims[i] >= 0 ? port.dims[i]
                                       : chosen[port.dim_texts[i]]);
    kpc::Tensor view(nullptr, kpc_element_type(port.type), dims);
    storage.emplace_back(size_t(view.bytes()));
    inputs.push_back(
        {port.name,
         {storage.back().data(), kpc_element_type(port.type), dims}});
  }

  auto outputs = session->run(inputs);
  if (!outputs) {
    std::fprintf(stderr, "%s\n", outputs.error().text().c_str());
    return 1;
  }
  for (const auto &[name, value] : *outputs) {
    std::printf("%s: %s[", name.data(), kpc_element_name(value.type()));
    for (size_t i = 0; i < value.dims().size(); ++i)
      std::printf(i ? ", %lld" : "%lld", (long long)value.dims()[i]);
    std::printf("]");
    int shown = 0;
    for (float element : value.values<const float>())
      if (shown++ < 10)
        std::printf(" %g", element);
    std::printf("\n");
  }
}
