/* Runs a compiled model on zeros and prints what comes out.
 *
 *   embed_c model.kpc
 */
#include <kpc/runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 16
#define MAX_RANK 32

static int failed(kpc_error *error) {
  fprintf(stderr, "%s\n", kpc_error_message(error));
  if (*kpc_error_hint(error))
    fprintf(stderr, "%s\n", kpc_error_hint(error));
  kpc_error_free(error);
  return 1;
}

/* What a dim that is chosen at run time is set to: its least value. */
static int64_t chosen(const kpc_model *model, const char *name) {
  kpc_symbol symbol;
  for (int32_t i = 0; kpc_model_symbol(model, i, &symbol) == KPC_OK; ++i)
    if (strcmp(symbol.name, name) == 0)
      return symbol.min > 0 ? symbol.min : 1;
  return 1;
}

static void print(const kpc_named_tensor *output) {
  const kpc_tensor *t = &output->tensor;
  printf("%s: %s[", output->name, kpc_element_name(t->type));
  for (int32_t i = 0; i < t->rank; ++i)
    printf(i ? ", %lld" : "%lld", (long long)t->dims[i]);
  printf("]");
  if (t->type == KPC_F32)
    for (int64_t i = 0; i < kpc_tensor_bytes(t) / 4 && i < 10; ++i)
      printf(" %g", ((const float *)t->data)[i]);
  printf("\n");
}

int main(int argc, char **argv) {
  kpc_error *error = NULL;
  kpc_model *model = NULL;
  kpc_session *session = NULL;
  kpc_outputs *outputs = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: embed_c model.kpc\n");
    return 2;
  }
  if (kpc_model_load_file(argv[1], NULL, &model, &error))
    return failed(error);
  /* NULL: the host. For a GPU: options.device = KPC_CUDA(0). */
  if (kpc_session_create(model, NULL, &session, &error))
    return failed(error);

  kpc_named_tensor inputs[MAX_PORTS];
  int64_t dims[MAX_PORTS][MAX_RANK];
  int32_t count = kpc_model_input_count(model);
  if (count > MAX_PORTS)
    return 1;
  for (int32_t i = 0; i < count; ++i) {
    kpc_port port;
    kpc_model_input(model, i, &port);
    for (int32_t d = 0; d < port.rank; ++d)
      dims[i][d] =
          port.dims[d] >= 0 ? port.dims[d] : chosen(model, port.dim_texts[d]);
    kpc_tensor t = {NULL, dims[i], port.rank, port.type, KPC_HOST};
    /* 64-byte alignment spares the library a copy. */
    size_t size = ((size_t)kpc_tensor_bytes(&t) + 63) / 64 * 64;
    t.data = aligned_alloc(64, size ? size : 64);
    if (!t.data)
      return 1;
    memset(t.data, 0, size);
    inputs[i].name = port.name;
    inputs[i].tensor = t;
  }

  if (kpc_session_run_owned(session, inputs, (size_t)count, NULL, &outputs,
                            &error))
    return failed(error);
  kpc_named_tensor output;
  for (int32_t i = 0; kpc_outputs_get(outputs, i, &output) == KPC_OK; ++i)
    print(&output);

  kpc_outputs_free(outputs);
  for (int32_t i = 0; i < count; ++i)
    free(inputs[i].tensor.data);
  kpc_session_free(session);
  kpc_model_free(model);
  return 0;
}
