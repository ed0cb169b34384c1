/*===- kpc/runtime.h - Runs compiled models: the C interface ------*- C -*-===*\
|*                                                                            *|
|* Part of kpc, under the Apache License v2.0 with LLVM Exceptions.           *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* A whole program (docs/runtime.md has more):                                *|
|*                                                                            *|
|*   kpc_error *error = NULL;                                                 *|
|*   kpc_model *model = NULL;                                                 *|
|*   kpc_session *session = NULL;                                             *|
|*   float x[4 * 64], y[4 * 10];                                              *|
|*   int64_t x_dims[] = {4, 64}, y_dims[] = {4, 10};                          *|
|*   kpc_named_tensor in = {"x", {x, x_dims, 2, KPC_F32, KPC_HOST}};          *|
|*   kpc_named_tensor out = {"y", {y, y_dims, 2, KPC_F32, KPC_HOST}};         *|
|*   if (kpc_model_load_file("model.kpc", NULL, &model, &error) ||            *|
|*       kpc_session_create(model, NULL, &session, &error) ||                 *|
|*       kpc_session_run(session, &in, 1, &out, 1, NULL, &error))             *|
|*     fprintf(stderr, "%s\n", kpc_error_message(error));                     *|
|*   kpc_error_free(error);                                                   *|
|*   kpc_session_free(session);                                               *|
|*   kpc_model_free(model);                                                   *|
|*                                                                            *|
|* Rules that hold for every function:                                        *|
|*                                                                            *|
|* Ownership. An object that a function named *_create, *_load_*,             *|
|*   *_run_owned, *_profile or *_to_dlpack returns is the caller's, until the *|
|*   matching *_free (for DLPack, its deleter). *_free of NULL does nothing.  *|
|*   Pointers that other functions return belong to the object they are asked *|
|*   of. They live as long as that object, or as the function says. The       *|
|*   library reads memory that the caller passes only during the call, unless *|
|*   a function says otherwise.                                               *|
|* Strings are UTF-8 and end with a zero.                                     *|
|* Structs of options begin with struct_size, which the caller sets to        *|
|*   sizeof(the struct), as the *_INIT macros do. The other fields are 0 for  *|
|*   the defaults. Later versions add fields at the end. A size that no       *|
|*   version has, fields of a later version that are not 0, and flags that    *|
|*   this version does not know are KPC_ERROR_INVALID_ARGUMENT.               *|
|* Errors. Functions return KPC_OK (0) or another kpc_status. With another    *|
|*   status they set *error, if `error` is not NULL, to an object that the    *|
|*   caller frees, and leave outputs untouched. Nothing aborts, throws or     *|
|*   prints.                                                                  *|
|* Threads. Any number of threads may use a kpc_model at once. Only one       *|
|*   thread at a time may use a kpc_session with its outputs and profiles.    *|
|*   Distinct sessions of one model can run at the same time.                 *|
|* A kpc_session keeps its model alive, so kpc_model_free may come first.     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/* NOLINTBEGIN(readability-identifier-naming): C names */
#ifndef KPC_RUNTIME_H
#define KPC_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(KPC_BUILDING_RUNTIME)
#define KPC_API __attribute__((visibility("default")))
#else
#define KPC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===-- Errors ------------------------------------------------------------===*/

/** Codes are stable: they are never renumbered or given another meaning. */
typedef enum kpc_status {
  KPC_OK = 0,
  /* The artifact. */
  KPC_ERROR_IO = 100,              /**< the file cannot be read */
  KPC_ERROR_NOT_AN_ARTIFACT = 101, /**< it is not a kpc artifact */
  KPC_ERROR_VERSION = 102,   /**< a format that this runtime does not read */
  KPC_ERROR_DAMAGED = 103,   /**< a digest or the length does not match */
  KPC_ERROR_MALFORMED = 104, /**< whole, but its contents are not valid */
  KPC_ERROR_SIGNATURE = 105, /**< not signed, or not with the given key */
  /* The device and target to run on. */
  KPC_ERROR_NO_TARGET = 200, /**< nothing in the artifact fits the device */
  KPC_ERROR_CPU_LEVEL = 201, /**< this processor lacks instructions */
  KPC_ERROR_DRIVER_MISSING = 202, /**< no usable CUDA driver library */
  KPC_ERROR_DRIVER_TOO_OLD = 203, /**< a newer CUDA driver is needed */
  KPC_ERROR_NO_DEVICE = 204,      /**< no device of that kind and number */
  /* Arguments of the caller. */
  KPC_ERROR_INVALID_ARGUMENT = 300,
  KPC_ERROR_UNKNOWN_NAME = 301, /**< no input, output, dim … of that name */
  KPC_ERROR_MISSING = 302,      /**< an input, output or dim was not given */
  KPC_ERROR_WRONG_TYPE = 303,   /**< element type */
  KPC_ERROR_WRONG_SHAPE = 304,  /**< rank, or dims that contradict */
  KPC_ERROR_OUT_OF_RANGE = 305, /**< a dim outside its compiled range */
  KPC_ERROR_WRONG_DEVICE = 306, /**< memory that the session cannot reach */
  KPC_ERROR_MISALIGNED = 307,
  KPC_ERROR_TOO_SMALL = 308, /**< the given memory or workspace */
  /* Exhausted resources. */
  KPC_ERROR_OUT_OF_MEMORY = 400,
  KPC_ERROR_DEVICE_OUT_OF_MEMORY = 401,
  KPC_ERROR_SYSTEM = 402, /**< mappings, threads */
  /* Execution. */
  KPC_ERROR_DRIVER = 500,       /**< a driver call failed */
  KPC_ERROR_SESSION_LOST = 501, /**< the device's context is unusable now */
  KPC_ERROR_TIMED_OUT = 502, /**< a run took longer than the session allows */
  KPC_ERROR_OPERATOR = 503,  /**< a custom operator's host function failed */
  KPC_ERROR_INTERNAL = 900   /**< a fault of kpc's own: please report it */
} kpc_status;

typedef struct kpc_error kpc_error;

/** "KPC_ERROR_DAMAGED" and so on; "unknown" for other numbers. */
KPC_API const char *kpc_status_name(kpc_status status);
/** The parts of an error; "" where there is none, also for a NULL error. */
KPC_API kpc_status kpc_error_status(const kpc_error *error);
KPC_API const char *kpc_error_message(const kpc_error *error);
KPC_API const char *kpc_error_node(const kpc_error *error); /**< of the model */
KPC_API const char *kpc_error_kernel(const kpc_error *error);
KPC_API const char *kpc_error_hint(const kpc_error *error); /**< what to do */
KPC_API void kpc_error_free(kpc_error *error);

/** "0.1.0". */
KPC_API const char *kpc_runtime_version(void);

/*===-- Tensors -----------------------------------------------------------===*/

/** The numbers of ONNX's TensorProto.DataType. */
typedef enum kpc_element_type {
  KPC_F32 = 1,
  KPC_U8 = 2,
  KPC_I8 = 3,
  KPC_U16 = 4,
  KPC_I16 = 5,
  KPC_I32 = 6,
  KPC_I64 = 7,
  KPC_BOOL = 9,
  KPC_F16 = 10,
  KPC_F64 = 11,
  KPC_U32 = 12,
  KPC_U64 = 13,
  KPC_C64 = 14,
  KPC_C128 = 15,
  KPC_BF16 = 16,
  KPC_F8E4M3FN = 17,
  KPC_F8E4M3FNUZ = 18,
  KPC_F8E5M2 = 19,
  KPC_F8E5M2FNUZ = 20,
  KPC_U4 = 21,
  KPC_I4 = 22,
  KPC_F4E2M1 = 23,
  KPC_F8E8M0 = 24,
  KPC_U2 = 25,
  KPC_I2 = 26
} kpc_element_type;

/** Bits of one element in memory; 0 for an unknown type. */
KPC_API int32_t kpc_element_bits(int32_t type);
/** "f32", "bool", …; "unknown". */
KPC_API const char *kpc_element_name(int32_t type);

/** The numbers of DLPack's DLDeviceType. */
typedef enum kpc_device_kind {
  KPC_DEVICE_HOST = 1,
  KPC_DEVICE_CUDA = 2
} kpc_device_kind;

typedef struct kpc_device {
  int32_t kind;    /**< kpc_device_kind; 0 means the host */
  int32_t ordinal; /**< of the CUDA device */
} kpc_device;

/** Initialisers for a kpc_device. */
#define KPC_HOST {KPC_DEVICE_HOST, 0}
#define KPC_CUDA(ordinal) {KPC_DEVICE_CUDA, (ordinal)}

/** Contiguous elements in row-major order, owned by their maker. Types of
 *  fewer than 8 bits are packed, the first element in the low bits. */
typedef struct kpc_tensor {
  void *data; /**< may be NULL where there are no elements */
  const int64_t *dims;
  int32_t rank;
  int32_t type; /**< kpc_element_type */
  kpc_device device;
} kpc_tensor;

typedef struct kpc_named_tensor {
  const char *name;
  kpc_tensor tensor;
} kpc_named_tensor;

/** The bytes of a tensor's elements; -1 if they are negative or overflow. */
KPC_API int64_t kpc_tensor_bytes(const kpc_tensor *tensor);

/*===-- Callbacks ---------------------------------------------------------===*/

typedef enum kpc_log_level {
  KPC_LOG_INFO = 1,
  KPC_LOG_WARNING = 2
} kpc_log_level;

/** Receives messages. If `log` is NULL, they are dropped. The thread that is in
 *  a function of this header calls it. It must not call into the library. */
typedef struct kpc_log_sink {
  void (*log)(void *user, kpc_log_level level, const char *message);
  void *user;
} kpc_log_sink;

/** Provides the large memory of a session: workspace, owned outputs, staging.
 *  Weights and small host structures are not among it. If `allocate` is NULL,
 *  the library allocates itself. `allocate` returns NULL when there is no
 *  memory; `alignment` is a power of two. The library may call both until the
 *  session and all its outputs are freed. They must not throw. Requests for
 *  device memory come with the device's context current. */
typedef struct kpc_allocator {
  void *(*allocate)(void *user, size_t bytes, size_t alignment,
                    kpc_device device);
  void (*release)(void *user, void *memory, size_t bytes, kpc_device device);
  void *user;
} kpc_allocator;

/*===-- Models ------------------------------------------------------------===*/

/** A loaded artifact: immutable, shared by threads and sessions. */
typedef struct kpc_model kpc_model;

enum {
  /** Also checks the digest of the weights, for which it reads all of them. */
  KPC_LOAD_VERIFY_WEIGHTS = 1,
  /** Copies weights that are loaded from memory, so that the caller may free
   *  that memory. */
  KPC_LOAD_COPY = 2,
  /** Never makes native code of the artifact executable. Sessions on the host
   *  then fail with KPC_ERROR_NO_TARGET. Use it if you do not trust the maker
   *  of the artifact, because host code has all rights of this process. */
  KPC_LOAD_NO_HOST_CODE = 4,
  /** Lets sessions on the host load the shared objects of custom operators
   *  (docs/custom-operators.md). Without it they fail with
   *  KPC_ERROR_NO_TARGET. */
  KPC_LOAD_CUSTOM_HOST_CODE = 8
};

typedef struct kpc_load_options {
  size_t struct_size;
  uint32_t flags; /**< KPC_LOAD_… */
  kpc_log_sink log;
  /** The 32 bytes of an Ed25519 key. The artifact must be signed with the
   *  matching private key (`kpc sign`), or loading fails with
   *  KPC_ERROR_SIGNATURE. A key implies KPC_LOAD_VERIFY_WEIGHTS, and loads
   *  OpenSSL's libcrypto.so.3. If it is NULL, signatures are ignored. */
  const uint8_t *public_key;
} kpc_load_options;
#define KPC_LOAD_OPTIONS_INIT {sizeof(kpc_load_options), 0, {0, 0}, 0}

/** Reads and checks header, table and digests, and maps the weights. The file
 *  must not change while the model lives; it may be replaced by a rename.
 *  `options` may be NULL. */
KPC_API kpc_status kpc_model_load_file(const char *path,
                                       const kpc_load_options *options,
                                       kpc_model **model, kpc_error **error);
/** Loads from memory. The memory must stay unchanged until the model and its
 *  sessions are freed, unless KPC_LOAD_COPY is set. */
KPC_API kpc_status kpc_model_load_memory(const void *data, size_t size,
                                         const kpc_load_options *options,
                                         kpc_model **model, kpc_error **error);
KPC_API void kpc_model_free(kpc_model *model);

/** Reads all weights and compares their digests. */
KPC_API kpc_status kpc_model_verify_weights(const kpc_model *model,
                                            kpc_error **error);

/** An input or output. */
typedef struct kpc_port {
  const char *name;
  int32_t type; /**< kpc_element_type */
  int32_t rank;
  const int64_t *dims;          /**< -1 where a dim depends on symbols */
  const char *const *dim_texts; /**< "4", "batch", "seq*2 + 1" */
  int32_t alias; /**< output: the input whose memory it may take; -1: none */
} kpc_port;

KPC_API int32_t kpc_model_input_count(const kpc_model *model);
KPC_API int32_t kpc_model_output_count(const kpc_model *model);
/** Fills `port`; KPC_ERROR_OUT_OF_RANGE where there is no such index. */
KPC_API kpc_status kpc_model_input(const kpc_model *model, int32_t index,
                                   kpc_port *port);
KPC_API kpc_status kpc_model_output(const kpc_model *model, int32_t index,
                                    kpc_port *port);

/** A dim that is chosen at run time. */
typedef struct kpc_symbol {
  const char *name;
  int64_t min, max; /**< max INT64_MAX: unbounded */
  int64_t optimum;  /**< the value it was tuned for; -1: none */
  int64_t divisor;  /**< values are multiples of this */
} kpc_symbol;

KPC_API int32_t kpc_model_symbol_count(const kpc_model *model);
KPC_API kpc_status kpc_model_symbol(const kpc_model *model, int32_t index,
                                    kpc_symbol *symbol);

/** An element of an input that is a size. Every run reads it before it binds.
 *  If the input is on a device, the run copies the element and waits for the
 *  copy. The element decides a dim, or must agree with the dims. */
typedef struct kpc_input_value {
  int32_t input;         /**< which of the inputs */
  int32_t element;       /**< which of its elements, in row-major order */
  const char *name;      /**< "size[1]" */
  const char *size_text; /**< as in kpc_port.dim_texts: mostly a dim's name */
} kpc_input_value;

KPC_API int32_t kpc_model_input_value_count(const kpc_model *model);
/** Fills `value`; KPC_ERROR_OUT_OF_RANGE where there is no such index. */
KPC_API kpc_status kpc_model_input_value(const kpc_model *model, int32_t index,
                                         kpc_input_value *value);

/** A condition between sizes, in addition to the ranges of dims. If it does not
 *  hold, a run and kpc_session_prepare fail with KPC_ERROR_OUT_OF_RANGE. */
typedef struct kpc_requirement {
  const char *left_text, *right_text; /**< as in kpc_port.dim_texts */
  int32_t equal;                      /**< 0: left is at most right */
  const char *reason;                 /**< what needs it, for people */
} kpc_requirement;

KPC_API int32_t kpc_model_requirement_count(const kpc_model *model);
/** Fills `requirement`; KPC_ERROR_OUT_OF_RANGE where there is no such index. */
KPC_API kpc_status kpc_model_requirement(const kpc_model *model, int32_t index,
                                         kpc_requirement *requirement);

/** A size that data decides in the run, such as the number of boxes that are
 *  kept. A run reads it between two stages. On a GPU it copies the size back
 *  and waits for the copy. */
typedef struct kpc_data_size {
  const char *size_text;    /**< as in kpc_port.dim_texts */
  const char *at_most_text; /**< the greatest that it can be */
} kpc_data_size;

KPC_API int32_t kpc_model_data_size_count(const kpc_model *model);
/** Fills `size`; KPC_ERROR_OUT_OF_RANGE where there is no such index. */
KPC_API kpc_status kpc_model_data_size(const kpc_model *model, int32_t index,
                                       kpc_data_size *size);

/** A target that the model was compiled for. */
typedef struct kpc_target {
  const char *name;    /**< "host:x86-64-v3", "sm_90a", "portable" */
  const char *runs_on; /**< "x86-64-v3 processors", "compute capability 9.0" */
  int32_t device_kind; /**< kpc_device_kind */
  int32_t kernels;
  int32_t steps;
  uint32_t least_driver; /**< 12040 for CUDA 12.4; 0: any */
} kpc_target;

KPC_API int32_t kpc_model_target_count(const kpc_model *model);
KPC_API kpc_status kpc_model_target(const kpc_model *model, int32_t index,
                                    kpc_target *target);

/** The artifact's record of its origin. Keys are "kpc_version", "model_name",
 *  "model_digest", "options", "tuning_digest", and properties that the compiler
 *  recorded. NULL if there is no such record. */
KPC_API const char *kpc_model_provenance(const kpc_model *model,
                                         const char *key);

/*===-- Sessions ----------------------------------------------------------===*/

/** A model on a device: workspace, bound shapes, recorded graphs. */
typedef struct kpc_session kpc_session;

enum {
  /** Keeps every value that the plan materialises readable after a run
   *  (kpc_session_read_value). This takes more memory. */
  KPC_SESSION_KEEP_VALUES = 1,
  /** CUDA: launches steps one by one instead of as a graph. */
  KPC_SESSION_NO_GRAPH = 2,
  /** CUDA: no two steps of the graph run at the same time. */
  KPC_SESSION_ONE_CHAIN = 4,
  /** CUDA: no kernel is launched before those that it depends on have ended. */
  KPC_SESSION_NO_EARLY_LAUNCH = 8,
  /** Reports NVTX ranges to a profiler (Nsight Systems, Nsight Compute): for
   *  binding, recording and runs, and for steps that are launched one by one.
   */
  KPC_SESSION_NVTX = 16
};

typedef struct kpc_session_options {
  size_t struct_size;
  kpc_device device;   /**< kind 0: the host */
  const char *target;  /**< take this target; NULL: the best that fits */
  const char *driver;  /**< CUDA driver library; NULL: $KPC_CUDA_DRIVER, else
                            libcuda.so.1 */
  int32_t num_threads; /**< host: 0: one per processor of this process */
  int32_t max_bound_shapes; /**< kept at once; 0: 8 */
  uint32_t flags;           /**< KPC_SESSION_… */
  kpc_allocator allocator;
  kpc_log_sink log;
  void *workspace;       /**< memory on the device for intermediate values,
                              used while the session lives; NULL: allocated */
  size_t workspace_size; /**< a run that needs more fails with TOO_SMALL */
  /** A run that takes longer ends with KPC_ERROR_TIMED_OUT. On the host it ends
   *  between two steps or parts of one, on a GPU where a loop or branch reads
   *  its condition back. The contents of the outputs are then undefined. The
   *  limit does not end code that does not return. 0: no limit. */
  int64_t max_run_us;
  /** Iterations of a loop that has no trip count of its own: a run fails where
   *  its data has not ended it by then. At most 2147483647; 0: 10000000. */
  int64_t max_iterations;
} kpc_session_options;
#define KPC_SESSION_OPTIONS_INIT                                               \
  {sizeof(kpc_session_options),                                                \
   KPC_HOST,                                                                   \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   {0, 0, 0},                                                                  \
   {0, 0},                                                                     \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   0}

/** If `options` is NULL, the session is on the host with the defaults. */
KPC_API kpc_status kpc_session_create(kpc_model *model,
                                      const kpc_session_options *options,
                                      kpc_session **session, kpc_error **error);
/** Waits for work that is still running on the device. */
KPC_API void kpc_session_free(kpc_session *session);

/** The name of the target that the session uses. */
KPC_API const char *kpc_session_target(const kpc_session *session);

typedef struct kpc_dim {
  const char *name;
  int64_t value;
} kpc_dim;

/** Binds a shape ahead of the first run with it: evaluates sizes, plans and
 *  allocates the workspace, and records the graph. Dims with one possible value
 *  need not be given. A dim that follows from no input keeps the value that it
 *  gets here. */
KPC_API kpc_status kpc_session_prepare(kpc_session *session,
                                       const kpc_dim *dims, size_t dim_count,
                                       kpc_error **error);

/** The dims of an output for the shape bound last, valid until the next call
 *  with this session. If data decides a dim, it is the greatest possible value
 *  after kpc_session_prepare, and the value of the run after a run. */
KPC_API kpc_status kpc_session_output_dims(kpc_session *session, int32_t index,
                                           const int64_t **dims, int32_t *rank,
                                           kpc_error **error);

/** CUDA's default stream, as a value for `stream`. */
#define KPC_STREAM_DEFAULT ((void *)1)

/** Runs the model into given outputs. All inputs and all outputs must be given,
 *  in any order. They must not overlap, except that an output may be the same
 *  tensor as the input that it aliases. If data decides dims of an output, its
 *  tensor may be larger. The elements are then packed at its beginning, and
 *  kpc_session_output_dims gives their dims.
 *
 *  Host sessions return when the outputs are complete; `stream` must be NULL.
 *  CUDA sessions enqueue the work on `stream` (a CUstream) and return at once,
 *  if all tensors are on the device. Tensors must then stay valid until the
 *  stream has finished the work. If `stream` is NULL, or a tensor is on the
 *  host, the call returns when the outputs are complete.
 *
 *  A run of a bound shape, with tensors aligned to 64 bytes on the session's
 *  device, allocates nothing. With a stream it waits for nothing, except at
 *  branches and sizes that data decides. There a CUDA session waits for the
 *  stream, to read the condition or the size back. */
KPC_API kpc_status kpc_session_run(kpc_session *session,
                                   const kpc_named_tensor *inputs,
                                   size_t input_count,
                                   const kpc_named_tensor *outputs,
                                   size_t output_count, void *stream,
                                   kpc_error **error);

/** Outputs that the library allocated. They are on the host if an input was,
 *  and otherwise on the session's device. They may outlive the session. */
typedef struct kpc_outputs kpc_outputs;

KPC_API kpc_status kpc_session_run_owned(kpc_session *session,
                                         const kpc_named_tensor *inputs,
                                         size_t input_count, void *stream,
                                         kpc_outputs **outputs,
                                         kpc_error **error);
KPC_API int32_t kpc_outputs_count(const kpc_outputs *outputs);
/** In the model's order; name, dims and data live as long as `outputs`. */
KPC_API kpc_status kpc_outputs_get(const kpc_outputs *outputs, int32_t index,
                                   kpc_named_tensor *tensor);
KPC_API void kpc_outputs_free(kpc_outputs *outputs);

typedef struct kpc_memory {
  uint64_t arena_bytes;    /**< workspace of the shape bound last */
  uint64_t live_bytes;     /**< the largest sum of live, aligned values; no plan
                                can need less */
  uint64_t value_bytes;    /**< workspace without any reuse */
  uint64_t weight_bytes;   /**< weights of this target */
  uint64_t staging_bytes;  /**< copies of tensors of the other side */
  uint64_t reserved_bytes; /**< workspace held now, for all shapes */
  int32_t bound_shapes;
} kpc_memory;
KPC_API kpc_status kpc_session_memory(const kpc_session *session,
                                      kpc_memory *memory);

/** The host's times in microseconds for binding the shape bound last, without
 *  the allocation of memory. A graph with copies or fills of the caller's
 *  tensors is made in the first run. Until then its times are 0, as they are on
 *  the host. */
typedef struct kpc_bind_times {
  double sizes_us;       /**< expressions, and checks of their values */
  double workspace_us;   /**< packing values into the workspace */
  double descriptors_us; /**< tensor maps whose addresses are known */
  double record_us;      /**< nodes and edges of the CUDA graph */
  double instantiate_us; /**< making it executable */
} kpc_bind_times;
KPC_API kpc_status kpc_session_bind_times(const kpc_session *session,
                                          kpc_bind_times *times);

/*===-- Intermediate values (KPC_SESSION_KEEP_VALUES)
 * ----------------------===*/

KPC_API int32_t kpc_session_value_count(const kpc_session *session);
/** Values are in the order in which they are computed. NULL if there is none of
 *  that index. */
KPC_API const char *kpc_session_value_name(const kpc_session *session,
                                           int32_t index);
/** Type and dims of a value of the last run, in the model's order of dims.
 *  Before the first run they are those of the shape that is prepared. `data` is
 *  NULL. `dims` is valid until the next call with this session. */
KPC_API kpc_status kpc_session_value(kpc_session *session, int32_t index,
                                     kpc_named_tensor *value,
                                     kpc_error **error);
/** Copies a value of the last run to `data` on the host, in the model's order
 *  of dims. `size` must be its bytes. Inputs and outputs of that run must still
 *  be valid. */
KPC_API kpc_status kpc_session_read_value(kpc_session *session, int32_t index,
                                          void *data, size_t size,
                                          kpc_error **error);

/*===-- Timing ------------------------------------------------------------===*/

typedef struct kpc_profile kpc_profile;

typedef struct kpc_profile_step {
  const char *name;   /**< of the kernel, for people; or "copy", "fill" */
  const char *symbol; /**< of its code; "" for a copy or fill */
  const char *nodes;  /**< the nodes of the model it computes, ", " between */
  int32_t step;       /**< number in the plan */
  double start_us; /**< since the run began; in a loop, when it began first */
  double duration_us; /**< of all iterations; 0 in a branch not taken */
  /** Bytes of the ranges that it touches, in all iterations. */
  int64_t bytes_read, bytes_written;
  int64_t flops; /**< in all iterations; -1: not known */
  int64_t work;  /**< units (host) or blocks (device) of one launch */
} kpc_profile_step;

/** Runs once, step by step, and measures each step: by the clock on the host,
 *  by events on a device. Arguments are those of kpc_session_run. */
KPC_API kpc_status kpc_session_profile(
    kpc_session *session, const kpc_named_tensor *inputs, size_t input_count,
    const kpc_named_tensor *outputs, size_t output_count, kpc_profile **profile,
    kpc_error **error);
KPC_API int32_t kpc_profile_step_count(const kpc_profile *profile);
KPC_API kpc_status kpc_profile_get(const kpc_profile *profile, int32_t index,
                                   kpc_profile_step *step);
/** The profile as Chrome trace events (JSON), for chrome://tracing or Perfetto.
 *  It lives as long as `profile`. */
KPC_API const char *kpc_profile_trace(const kpc_profile *profile);
KPC_API void kpc_profile_free(kpc_profile *profile);

/*===-- DLPack 1.1 (kpc/dlpack.h has its types)
 * ----------------------------===*/

struct DLManagedTensorVersioned;

/** A view of a DLPack tensor, which stays the caller's and must outlive the
 *  view. A tensor that is not contiguous, has several lanes, or is on another
 *  kind of device is an error. */
KPC_API kpc_status
kpc_tensor_from_dlpack(const struct DLManagedTensorVersioned *managed,
                       kpc_tensor *tensor, kpc_error **error);
/** One output as a DLPack tensor. It keeps the memory of all `outputs` alive
 *  until its deleter is called, which any thread may do. */
KPC_API kpc_status kpc_outputs_to_dlpack(
    const kpc_outputs *outputs, int32_t index,
    struct DLManagedTensorVersioned **managed, kpc_error **error);

#ifdef __cplusplus
}
#endif

#endif /* KPC_RUNTIME_H */
/* NOLINTEND(readability-identifier-naming) */
