// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{expected a max of at least 8, got 4}}
func.func @f(%x: memref<f32>, %n: index {kernel.size = #kernel.size<min = 8, max = 4>}) {
  return
}

// -----

// expected-error @below {{expected a divisor of at least 1, got 0}}
func.func @f(%x: memref<f32>, %n: index {kernel.size = #kernel.size<divisor = 0>}) {
  return
}

// -----

// expected-error @below {{'func.func' op has 'kernel.size = 8 : i64' at an argument; expected #kernel.size}}
func.func @f(%x: memref<f32>, %n: index {kernel.size = 8 : i64}) {
  return
}

// -----

// expected-error @below {{has 'kernel.least = #kernel.size<min = 1>' at an argument; expected #kernel.size}}
func.func @f(%x: memref<f32>, %n: index {kernel.least = #kernel.size<min = 1>}) {
  return
}

// -----

// expected-error @below {{'func.func' op expected 'kernel.size' at a size, got argument 1 of type 'memref<f32>'}}
func.func @f(%x: memref<f32>, %n: memref<f32> {kernel.size = #kernel.size<min = 1>}) {
  return
}

// -----

// expected-error @below {{expected arguments in ascending order, got array<i64: 1, 0>}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [1, 0], writes = []>} {
  return
}

// -----

// expected-error @below {{expected weight_bytes to have a number for each of 2 arguments that are read, got 1}}
func.func @f(%x: memref<f32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [], weight_bytes = [65536]>} {
  return
}

// -----

// expected-error @below {{expected weight_bytes of argument 1 to be 0 or more, and 0 where it is written, got 65536}}
func.func @f(%x: memref<f32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [1], weight_bytes = [0, 65536]>} {
  return
}

// -----

// expected-error @below {{expected arguments in ascending order, got array<i64: 0, 0>}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [0, 0]>} {
  return
}

// -----

// expected-error @below {{'func.func' op expected 'kernel.buffers' to name one of 2 arguments, got 2}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [2]>} {
  return
}

// -----

// expected-error @below {{'func.func' op expected 'kernel.buffers' to name one of 2 arguments, got -1}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [-1], writes = [0]>} {
  return
}

// -----

// expected-error @below {{'func.func' op expected 'kernel.buffers' to name a buffer, got argument 1 of type 'index'}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  return
}

// -----

// expected-error @below {{'func.func' op has 'kernel.buffers = [0]', which is no attribute of kernels; see docs/dialects/kernel.md}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.buffers = [0]} {
  return
}

// -----

// expected-error @below {{which is no attribute of kernels; see docs/dialects/kernel.md}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.grid = #kernel.schedule<"map">} {
  return
}

// -----

// expected-error @below {{which is no attribute of kernels}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.schedule = "map"} {
  return
}

// -----

// expected-error @below {{which is no attribute of kernels}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tf32} {
  return
}

// -----

// expected-error @below {{expected the name of a family first, got ' x4'}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.schedule = #kernel.schedule<" x4">} {
  return
}

// -----

// expected-error @below {{expected units as an expression, got 'arg1 +': }}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.work = #kernel.work<units = "arg1 +", grain = 1>} {
  return
}

// -----

// expected-error @below {{expected a grain of at least 1, got 0}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.work = #kernel.work<units = "arg1", grain = 0>} {
  return
}

// -----

// expected-error @below {{'func.func' op expected 'kernel.work' to name sizes among the arguments, got 'arg0'}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.work = #kernel.work<units = "arg0*2", grain = 1>} {
  return
}

// -----

// expected-error @below {{expected a grid and a block of three sizes, got 1 and 3}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.launch = #kernel.launch<grid = ["1"], block = [32, 1, 1]>} {
  return
}

// -----

// expected-error @below {{expected the text of an expression, got 2 : i64}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.launch = #kernel.launch<grid = ["1", 2, "1"], block = [32, 1, 1]>} {
  return
}

// -----

// expected-error @below {{expected an expression, got 'n +': }}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.launch = #kernel.launch<grid = ["1", "n +", "1"], block = [32, 1, 1]>} {
  return
}

// -----

// expected-error @below {{expected a block of at least 1 thread, got array<i32: 0, 1, 1>}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [0, 1, 1]>} {
  return
}

// -----

// expected-error @below {{expected bytes of shared memory, got -1}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1], shared = -1>} {
  return
}

// -----

// expected-error @below {{expected a cluster of at least 1 block, got 0}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1], cluster = 0>} {
  return
}

// -----

// expected-error @below {{expected 'kernel.launch' to name sizes among the arguments, got 'arg2'}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.launch = #kernel.launch<grid = ["arg2", "1", "1"], block = [32, 1, 1]>} {
  return
}

// -----

// expected-error @below {{'func.func' op expected 'kernel.tensor_maps' to name one of 2 arguments, got 2}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 2, element = f16, dims = ["arg1"], strides = [], box = [8]>]} {
  return
}

// -----

// expected-error @below {{expected elements of numbers, got 'index'}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = index, dims = ["arg1"], strides = [], box = [8]>]} {
  return
}

// -----

// expected-error @below {{expected a stride for each dim but the first, got 1 for 1 dims}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = f16, dims = ["arg1"], strides = ["2"], box = [8]>]} {
  return
}

// -----

// expected-error @below {{expected 'kernel.tensor_maps' to name sizes among the arguments, got 'arg3'}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = f16, dims = ["arg3"], strides = [], box = [8]>]} {
  return
}

// -----

// expected-error @below {{expected either a box or im2col, got neither}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = f16, dims = ["arg1"], strides = []>]} {
  return
}

// -----

// expected-error @below {{expected extents of 32 bits, got -8}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = f16, dims = ["arg1"], strides = [], box = [-8]>]} {
  return
}

// -----

// expected-error @below {{expected a swizzle of 0, 32, 64 or 128 bytes, got 96}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = f16, dims = ["arg1"], strides = [], box = [8], swizzle = 96>]} {
  return
}

// -----

// expected-error @below {{expected an l2 of 0, 64, 128 or 256 bytes, got 32}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = f16, dims = ["arg1"], strides = [], box = [8], l2 = 32>]} {
  return
}

// -----

// expected-error @below {{expected two corners of as many dims, got 1 and 2}}
// expected-error @below {{failed to parse Kernel_TensorMapAttr parameter 'im2col'}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = f16, dims = ["arg1"], strides = [], im2col = <lower = [-1], upper = [-1, 0], channels = 64, pixels = 8>>]} {
  return
}

// -----

// expected-error @below {{expected 'kernel.tensor_maps' to hold #kernel.tensor_map, got 1 : i64}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.tensor_maps = [1]} {
  return
}

// -----

// expected-error @below {{expected 'kernel.schedule_costs' at a module, got a function}}
func.func @f(%x: memref<f32>, %n: index) attributes {kernel.schedule_costs = ["map"]} {
  return
}

// -----

// expected-error @below {{expected 'kernel.schedule' at a function, got something else}}
module attributes {kernel.schedule = #kernel.schedule<"map">} {
}

// -----

// expected-error @below {{expected codes of 4 or 8 bits in blocks of 1 or more, got 2 bits and blocks of 64}}
func.func @f(%x: memref<f32>) attributes {kernel.tiles = #kernel.tiles<bits = 2, block = 64, offset = 0>} {
  return
}

// -----

// expected-error @below {{expected f8E4M3FN or f8E5M2 of 8 bits and no offset, got 'f8E5M2' of 4 bits}}
func.func @f(%x: memref<f32>) attributes {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 0, number = f8E5M2>} {
  return
}

// -----

// expected-error @below {{expected 'kernel.tiles' at a linalg.generic, got a function}}
func.func @f(%x: memref<f32>) attributes {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 0>} {
  return
}

// -----

// expected-error @below {{expected 'kernel.stored_bits' at an op with fastmath, got another}}
func.func @f(%x: memref<f32>) attributes {kernel.stored_bits = 4 : i32} {
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{'math.erf' op has 'kernel.stored_bits = "few"', which is no attribute of kernels}}
  %0 = math.erf %x {kernel.stored_bits = "few"} : f32
  return
}

// -----

// expected-error @below {{expected 'kernel.row_squares' at a buffer of floats, with the number of another, got 1 : i64 at argument 1}}
func.func @f(%x: memref<f32>, %q: memref<f32> {kernel.row_squares = 1 : i64}) {
  return
}

// -----

// expected-error @below {{expected 'kernel.row_squares' at a buffer of floats, with the number of another, got 0 : i64 at argument 1}}
func.func @f(%x: memref<i32>, %q: memref<f32> {kernel.row_squares = 0 : i64}) {
  return
}
