// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Small kernels as CUDA C++ programs have them, for corpus.py: each with the idioms of its kind.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" {

// ---- reductions ----
__global__ void sum_tree(const float *In, float *Out, int Count) {
  __shared__ float Part[256];
  float Sum = 0;
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < Count; I += gridDim.x * blockDim.x)
    Sum += In[I];
  Part[threadIdx.x] = Sum;
  for (int Step = blockDim.x / 2; Step > 0; Step /= 2) {
    __syncthreads();
    if (threadIdx.x < Step)
      Part[threadIdx.x] += Part[threadIdx.x + Step];
  }
  if (threadIdx.x == 0)
    atomicAdd(Out, Part[0]);
}

__global__ void maximum_shuffle(const int *In, int *Out, int Count) {
  int Most = -2147483647 - 1;
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < Count; I += gridDim.x * blockDim.x)
    Most = max(Most, In[I]);
  for (int Step = 16; Step > 0; Step /= 2)
    Most = max(Most, __shfl_xor_sync(0xFFFFFFFF, Most, Step));
  if (threadIdx.x % 32 == 0)
    atomicMax(Out, Most);
}

__global__ void sum_last_block(const float *In, float *Parts, unsigned *Counter, float *Out, int Count) {
  __shared__ float Warps[8];
  __shared__ bool Last;
  float Sum = 0;
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < Count; I += gridDim.x * blockDim.x)
    Sum += In[I];
  for (int Step = 16; Step > 0; Step /= 2)
    Sum += __shfl_down_sync(0xFFFFFFFF, Sum, Step);
  if (threadIdx.x % 32 == 0)
    Warps[threadIdx.x / 32] = Sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    Sum = 0;
    for (int W = 0; W < blockDim.x / 32; ++W)
      Sum += Warps[W];
    Parts[blockIdx.x] = Sum;
    __threadfence();
    Last = atomicInc(Counter, gridDim.x - 1) == gridDim.x - 1;
    if (Last) {
      __threadfence();
      Sum = 0;
      for (int B = 0; B < gridDim.x; ++B)
        Sum += Parts[B];
      *Out = Sum;
    }
  }
}

// ---- scans ----
__global__ void scan_shuffle(const int *In, int *Out, int Count) {
  __shared__ int Warps[32];
  int I = threadIdx.x, Lane = I % 32, Warp = I / 32;
  int Value = I < Count ? In[I] : 0;
  for (int Step = 1; Step < 32; Step *= 2) {
    int Left = __shfl_up_sync(0xFFFFFFFF, Value, Step);
    if (Lane >= Step)
      Value += Left;
  }
  if (Lane == 31)
    Warps[Warp] = Value;
  __syncthreads();
  if (Warp == 0) {
    int Sum = Lane < blockDim.x / 32 ? Warps[Lane] : 0;
    for (int Step = 1; Step < 32; Step *= 2) {
      int Left = __shfl_up_sync(0xFFFFFFFF, Sum, Step);
      if (Lane >= Step)
        Sum += Left;
    }
    Warps[Lane] = Sum;
  }
  __syncthreads();
  if (I < Count)
    Out[I] = Value + (Warp ? Warps[Warp - 1] : 0);
}

__global__ void scan_shared(const float *In, float *Out, int Count) {
  extern __shared__ float Both[];
  int I = threadIdx.x, Now = 0;
  Both[I] = I < Count ? In[I] : 0;
  for (int Step = 1; Step < blockDim.x; Step *= 2) {
    __syncthreads();
    float Value = Both[Now * blockDim.x + I];
    if (I >= Step)
      Value += Both[Now * blockDim.x + I - Step];
    Now ^= 1;
    Both[Now * blockDim.x + I] = Value;
  }
  if (I < Count)
    Out[I] = Both[Now * blockDim.x + I];
}

// ---- stencils and transposes ----
__global__ void stencil(const float *In, float *Out, int Rows, int Columns) {
  __shared__ float Tile[10][34];
  int C = blockIdx.x * 32 + threadIdx.x, R = blockIdx.y * 8 + threadIdx.y;
  for (int Y = threadIdx.y; Y < 10; Y += 8)
    for (int X = threadIdx.x; X < 34; X += 32) {
      int AtR = blockIdx.y * 8 + Y - 1, AtC = blockIdx.x * 32 + X - 1;
      Tile[Y][X] = AtR >= 0 && AtR < Rows && AtC >= 0 && AtC < Columns ? In[AtR * Columns + AtC] : 0;
    }
  __syncthreads();
  if (R >= Rows || C >= Columns)
    return;
  int Y = threadIdx.y + 1, X = threadIdx.x + 1;
  Out[R * Columns + C] = Tile[Y][X] * 0.5f + (Tile[Y - 1][X] + Tile[Y + 1][X] + Tile[Y][X - 1] + Tile[Y][X + 1]) * 0.125f;
}

__global__ void transpose(const float *In, float *Out, int Rows, int Columns) {
  __shared__ float Tile[32][33];
  for (int Y = threadIdx.y; Y < 32; Y += blockDim.y) {
    int R = blockIdx.y * 32 + Y, C = blockIdx.x * 32 + threadIdx.x;
    if (R < Rows && C < Columns)
      Tile[Y][threadIdx.x] = In[R * Columns + C];
  }
  __syncthreads();
  for (int Y = threadIdx.y; Y < 32; Y += blockDim.y) {
    int R = blockIdx.x * 32 + Y, C = blockIdx.y * 32 + threadIdx.x;
    if (R < Columns && C < Rows)
      Out[R * Rows + C] = Tile[threadIdx.x][Y];
  }
}

// ---- atomics, votes, matches ----
__global__ void histogram(const unsigned char *In, unsigned *Out, int Count) {
  __shared__ unsigned Bins[256];
  for (int B = threadIdx.x; B < 256; B += blockDim.x)
    Bins[B] = 0;
  __syncthreads();
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < Count; I += gridDim.x * blockDim.x)
    atomicAdd(&Bins[In[I]], 1u);
  __syncthreads();
  for (int B = threadIdx.x; B < 256; B += blockDim.x)
    atomicAdd(&Out[B], Bins[B]);
}

__global__ void compact(const int *In, int *Out, int *Length, int Count) {
  int I = blockIdx.x * blockDim.x + threadIdx.x, Lane = threadIdx.x % 32;
  bool Keeps = I < Count && In[I] > 0;
  unsigned Ballot = __ballot_sync(0xFFFFFFFF, Keeps);
  int First = 0;
  if (Lane == 0)
    First = atomicAdd(Length, __popc(Ballot));
  First = __shfl_sync(0xFFFFFFFF, First, 0);
  if (Keeps)
    Out[First + __popc(Ballot & ((1u << Lane) - 1))] = In[I];
}

__global__ void compare_and_swap(double *Out, const double *In, int Count) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= Count)
    return;
  auto *At = reinterpret_cast<unsigned long long *>(Out);
  unsigned long long Old = *reinterpret_cast<volatile unsigned long long *>(At), Seen;
  do {
    Seen = Old;
    Old = atomicCAS(At, Seen, __double_as_longlong(fmax(__longlong_as_double(Seen), In[I])));
  } while (Old != Seen);
}

// ---- half precision ----
__global__ void half_axpy(const __half2 *X, const __half2 *Y, __half2 *Out, __half A, int Count) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < Count)
    Out[I] = __hfma2(__half2half2(A), X[I], Y[I]);
}

__global__ void half_norm(const __half *In, __half *Out, int Columns) {
  float Sum = 0;
  const __half *Row = In + blockIdx.x * Columns;
  for (int C = threadIdx.x; C < Columns; C += 32) {
    float Value = __half2float(Row[C]);
    Sum += Value * Value;
  }
  for (int Step = 16; Step > 0; Step /= 2)
    Sum += __shfl_xor_sync(0xFFFFFFFF, Sum, Step);
  float Scale = rsqrtf(Sum / Columns + 1e-5f);
  for (int C = threadIdx.x; C < Columns; C += 32)
    Out[blockIdx.x * Columns + C] = __float2half(__half2float(Row[C]) * Scale);
}

__global__ void brain_softmax(const __nv_bfloat16 *In, float *Out, int Columns) {
  __shared__ float Part[4];
  const __nv_bfloat16 *Row = In + blockIdx.x * Columns;
  float Most = -3.0e38f, Sum = 0;
  for (int C = threadIdx.x; C < Columns; C += 128)
    Most = fmaxf(Most, __bfloat162float(Row[C]));
  for (int Step = 16; Step > 0; Step /= 2)
    Most = fmaxf(Most, __shfl_xor_sync(0xFFFFFFFF, Most, Step));
  if (threadIdx.x % 32 == 0)
    Part[threadIdx.x / 32] = Most;
  __syncthreads();
  Most = fmaxf(fmaxf(Part[0], Part[1]), fmaxf(Part[2], Part[3]));
  __syncthreads();
  for (int C = threadIdx.x; C < Columns; C += 128)
    Sum += expf(__bfloat162float(Row[C]) - Most);
  for (int Step = 16; Step > 0; Step /= 2)
    Sum += __shfl_xor_sync(0xFFFFFFFF, Sum, Step);
  if (threadIdx.x % 32 == 0)
    Part[threadIdx.x / 32] = Sum;
  __syncthreads();
  Sum = Part[0] + Part[1] + Part[2] + Part[3];
  for (int C = threadIdx.x; C < Columns; C += 128)
    Out[blockIdx.x * Columns + C] = expf(__bfloat162float(Row[C]) - Most) / Sum;
}

// ---- functions, structs, local arrays ----
struct Complex {
  float Re, Im;
};

__device__ __noinline__ Complex multiply(Complex A, Complex B) {
  return {A.Re * B.Re - A.Im * B.Im, A.Re * B.Im + A.Im * B.Re};
}

__device__ __noinline__ int escape(Complex C, int Limit) {
  Complex Z = {0, 0};
  for (int N = 0; N < Limit; ++N) {
    Z = multiply(Z, Z);
    Z.Re += C.Re;
    Z.Im += C.Im;
    if (Z.Re * Z.Re + Z.Im * Z.Im > 4)
      return N;
  }
  return Limit;
}

__global__ void mandelbrot(int *Out, int Width, int Height, int Limit) {
  int X = blockIdx.x * blockDim.x + threadIdx.x, Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X < Width && Y < Height)
    Out[Y * Width + X] = escape({X * 0.125f - 2, Y * 0.125f - 1}, Limit);
}

__global__ void sort_small(const int *In, int *Out, int Count) {
  int Values[8];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= Count)
    return;
  for (int N = 0; N < 8; ++N)
    Values[N] = In[I * 8 + N];
  for (int N = 1; N < 8; ++N) {
    int Value = Values[N], At = N;
    while (At > 0 && Values[At - 1] > Value) {
      Values[At] = Values[At - 1];
      --At;
    }
    Values[At] = Value;
  }
  for (int N = 0; N < 8; ++N)
    Out[I * 8 + N] = Values[N];
}

__constant__ float Weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

__global__ void blur(const float *In, float *Out, int Count) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= Count)
    return;
  float Sum = 0;
  for (int N = 0; N < 5; ++N)
    Sum += Weights[N] * In[min(max(I + N - 2, 0), Count - 1)];
  Out[I] = Sum;
}

__global__ void divide(const int *A, const int *B, int *Out, int Count) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < Count)
    Out[I] = A[I] / B[I] * 1000 + A[I] % B[I];
}

__global__ void matrix_product(const float *A, const float *B, float *C, int Size) {
  __shared__ float Left[16][16], Right[16][16];
  int R = blockIdx.y * 16 + threadIdx.y, Col = blockIdx.x * 16 + threadIdx.x;
  float Sum = 0;
  for (int K = 0; K < Size; K += 16) {
    Left[threadIdx.y][threadIdx.x] = A[R * Size + K + threadIdx.x];
    Right[threadIdx.y][threadIdx.x] = B[(K + threadIdx.y) * Size + Col];
    __syncthreads();
    for (int N = 0; N < 16; ++N)
      Sum = fmaf(Left[threadIdx.y][N], Right[N][threadIdx.x], Sum);
    __syncthreads();
  }
  C[R * Size + Col] = Sum;
}

} // extern "C"
