/* Lanewise: quantised matrix-vector products straight off GGUF files, the same bits on every device.
 *
 * The C interface, and the only one whose binary form is promised. y = W * x:
 *   W  a matrix of `rows` x `cols` weights in one of GGUF's formats, row by row (`cols`, K, is contiguous)
 *   x  `tokens` vectors of `cols` elements, token by token
 *   y  `tokens` vectors of `rows` elements, token by token
 * The result is defined bit for bit by docs/arithmetic.md and depends on nothing but W, x and the activation's planes:
 * not on the device, the kernel, the threads, or how many tokens stand in one call.
 *
 * Errors. Every function that can fail returns an lw_status and, where the caller passes one, fills an lw_error: with a
 * sentence on failure, with LW_OK and an empty sentence on success. `error` may always be NULL. A call that fails
 * writes none of its outputs, except that a handle's `*out` becomes NULL. Nothing here prints, aborts or throws.
 *
 * Threads. Any number of threads may use the same device, model, matrix or activation at the same time, with two
 * exceptions: lw_activation_set writes its activation, and a ..._close or ..._free ends its handle. docs/library.md has
 * the details.
 *
 * Lifetimes. Handles may be closed in any order: a matrix keeps its device and the file of its model, an activation its
 * device, until it is freed itself. Memory that the caller gives (bytes of a model or matrix, an activation's
 * workspace) must stay until every handle made from it is closed. Closing NULL does nothing.
 *
 * Structs that may grow carry their size in `struct_size`: set it to sizeof(the struct), or use the LW_..._INIT macros.
 * A size that this library has never had is LW_ERROR_ARGUMENT; that of an older header is served as that header says.
 * lw_output has no size and keeps its fields as long as LW_ABI_VERSION stays.
 */
#ifndef LANEWISE_LANEWISE_H
#define LANEWISE_LANEWISE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define LW_API
#else
#define LW_API __attribute__((visibility("default")))
#endif

/* An enum that holds any 32-bit number, so that an unknown one can be refused instead of being undefined behaviour. */
#ifdef __cplusplus
#define LW_ENUM32 : uint32_t
extern "C" {
#else
#define LW_ENUM32
#endif

/* ---- Versions ---- */

#define LW_ABI_VERSION 1        /* rises when a program built against an older header would break */
#define LW_ARITHMETIC_VERSION 1 /* rises when any bit of any result may differ: docs/arithmetic.md */

LW_API uint32_t lw_abi_version(void);
LW_API uint32_t lw_arithmetic_version(void);
/* "major.minor.patch" */
LW_API const char* lw_version(void);

/* ---- Status ---- */

typedef enum lw_status LW_ENUM32 {
  LW_OK = 0,
  LW_ERROR_ARGUMENT = 1,     /* a null pointer, a size that doesn't fit, overlapping memory, a struct of unknown size */
  LW_ERROR_MEMORY = 2,       /* an allocation failed */
  LW_ERROR_IO = 3,           /* the system couldn't open, read or write */
  LW_ERROR_NOT_FOUND = 4,    /* no tensor, format, kernel or device of that name */
  LW_ERROR_UNSUPPORTED = 5,  /* sound, but nothing here can do it */
  LW_ERROR_NOT_A_WEIGHT = 6, /* a tensor of a type that is no weight format */
  LW_ERROR_DEVICE = 7,       /* a device or its driver failed */
  LW_ERROR_INTERNAL = 8,     /* a fault of ours */
  LW_ERROR_FILE_MAGIC = 20,  /* no GGUF file */
  LW_ERROR_FILE_VERSION = 21,   /* a version other than 2 and 3, or the other byte order */
  LW_ERROR_FILE_TRUNCATED = 22, /* the file ends before what it announces */
  LW_ERROR_FILE_METADATA = 23,  /* a metadata pair is malformed */
  LW_ERROR_FILE_TENSOR = 24,    /* a tensor's entry is malformed: name, dims, offset, overlap */
  LW_ERROR_FILE_TYPE = 25,      /* a tensor's type number is unknown or removed */
  LW_ERROR_FILE_SPLIT = 26      /* the shards of a split file don't belong together */
} lw_status;

/* "LW_ERROR_IO" and so on; "unknown status" for a number that is none. */
LW_API const char* lw_status_name(lw_status status);

#define LW_NO_OFFSET UINT64_MAX

typedef struct lw_error {
  uint32_t struct_size;
  lw_status code;
  uint64_t offset;   /* byte of the file at which the fault lies, or LW_NO_OFFSET */
  char message[488]; /* one sentence, null-terminated, cut if longer */
} lw_error;
#define LW_ERROR_INIT                            \
  {                                              \
    sizeof(lw_error), LW_OK, LW_NO_OFFSET, { 0 } \
  }

/* ---- Formats ---- */

/* ggml's type numbers. */
typedef enum lw_format LW_ENUM32 {
  LW_F32 = 0,
  LW_F16 = 1,
  LW_BF16 = 30,
  LW_Q4_0 = 2,
  LW_Q4_1 = 3,
  LW_Q5_0 = 6,
  LW_Q5_1 = 7,
  LW_Q8_0 = 8,
  LW_Q2_K = 10,
  LW_Q3_K = 11,
  LW_Q4_K = 12,
  LW_Q5_K = 13,
  LW_Q6_K = 14,
  LW_IQ2_XXS = 16,
  LW_IQ2_XS = 17,
  LW_IQ3_XXS = 18,
  LW_IQ1_S = 19,
  LW_IQ4_NL = 20,
  LW_IQ3_S = 21,
  LW_IQ2_S = 22,
  LW_IQ4_XS = 23,
  LW_IQ1_M = 29,
  LW_TQ1_0 = 34,
  LW_TQ2_0 = 35,
  LW_MXFP4 = 39,
  LW_NVFP4 = 40,
  LW_Q1_0 = 41,
  LW_Q2_0 = 42
} lw_format;

typedef struct lw_format_info {
  uint32_t struct_size;
  lw_format format;
  const char* name; /* "q4_K"; lives as long as the program */
  uint32_t block_elements;
  uint32_t block_bytes;
} lw_format_info;
#define LW_FORMAT_INFO_INIT \
  { sizeof(lw_format_info), LW_F32, NULL, 0, 0 }

/* How many formats there are, and the i-th of them. */
LW_API uint32_t lw_format_count(void);
LW_API lw_status lw_format_at(uint32_t index, lw_format_info* out);
/* LW_ERROR_NOT_FOUND where the number is no format. */
LW_API lw_status lw_format_query(lw_format format, lw_format_info* out);
/* By name, upper and lower case alike. */
LW_API lw_status lw_format_by_name(const char* name, lw_format* out);

/* Decodes `elements` weights (whole blocks) held in `data` (`bytes` long, exactly theirs) to fp32. */
LW_API lw_status lw_dequantize(lw_format format, const void* data, uint64_t bytes, uint64_t elements, float* out,
                               lw_error* error);

/* ---- Models ---- */

typedef struct lw_model lw_model;

typedef struct lw_tensor_info {
  uint32_t struct_size;
  uint32_t type;         /* ggml's type number, which may be none of lw_format */
  const char* type_name; /* "q4_K"; lives as long as the program */
  const char* name;      /* null-terminated; lives as long as the model, as `data` does */
  const void* data;      /* the tensor's bytes: mapped, not copied, for a file that could be mapped */
  uint64_t bytes;
  uint32_t dim_count;
  uint64_t dims[4];  /* dims[0] is K, contiguous; unused ones are 1 */
  int32_t is_weight; /* 1: type is an lw_format */
} lw_tensor_info;
#define LW_TENSOR_INFO_INIT \
  { sizeof(lw_tensor_info), 0, NULL, NULL, NULL, 0, 0, {0, 0, 0, 0}, 0 }

/* Opens a GGUF file (any shard of a split one). Every byte of its header is checked here; afterwards no tensor can
 * reach outside the file. */
LW_API lw_status lw_model_open(const char* path, lw_model** out, lw_error* error);
/* The same from memory that stays with the caller and unchanged while the model lives. */
LW_API lw_status lw_model_open_bytes(const void* data, uint64_t bytes, lw_model** out, lw_error* error);
LW_API void lw_model_close(lw_model* model);
LW_API uint64_t lw_model_tensor_count(const lw_model* model);
LW_API lw_status lw_model_tensor(const lw_model* model, uint64_t index, lw_tensor_info* out, lw_error* error);
LW_API lw_status lw_model_find(const lw_model* model, const char* name, lw_tensor_info* out, lw_error* error);

/* ---- Devices ---- */

typedef struct lw_device lw_device;

/* Runs task(context, i) once for every i in 0 .. count-1, in any order, on any threads, and returns when all are done.
 * It must not throw. */
typedef void (*lw_parallel_for)(void* user, uint32_t count, void (*task)(void* context, uint32_t i), void* context);

typedef struct lw_device_options {
  uint32_t struct_size;
  uint32_t threads;   /* of the CPU: at most so many work on a call, the calling one included; 0: one a core */
  const char* name;   /* "cpu", "cuda:0", "vulkan:1" ... ("cuda" is "cuda:0"); NULL: "cpu" */
  const char* kernel; /* NULL: the library chooses; otherwise that kernel or an error */
  lw_parallel_for parallel_for; /* not NULL: in place of the library's own threads; at most `threads` tasks a call */
  void* parallel_user;
  /* "raw" or NULL: matrices are read where they lie, nothing is copied. "rows16": matrices of codes are repacked when
   * they are made, in memory of the library's own, for the fastest kernels; the bytes they came from are needed no
   * more. "frag": on a CUDA device, in the order of its matrix units. LW_ERROR_UNSUPPORTED where this device has no
   * kernel for it. On a CUDA device matrices are always copied, and NULL means the fastest layout that it has. */
  const char* layout;
  void* stream;       /* of a CUDA device: the cudaStream_t that calls go to; NULL: the default stream */
  int32_t overlapped; /* 1: a CUDA kernel may begin while the one before it in the stream still runs, where the device
                       * can (programmatic dependent launch). It reads x and writes y only when that one is done. */
} lw_device_options;
#define LW_DEVICE_OPTIONS_INIT \
  { sizeof(lw_device_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0 }

/* CUDA devices. x, y and an activation's workspace are device memory there, the bytes of a matrix host memory (they are
 * copied and needed no more). lw_activation_set and the products only enqueue work on the stream: they return before it
 * is done, wait for nothing and allocate nothing, so that they may be captured into a CUDA graph; what they are given
 * stays until then. Making and freeing matrices and activations may wait for the device. A pointer to host memory as x
 * or y isn't found out: the device stops there, and with it everything in the process that uses it. */

/* `options` may be NULL. The names in it are copied. Where the system refuses some of the threads, the device works
 * with fewer: lw_device_query says how many. */
LW_API lw_status lw_device_open(const lw_device_options* options, lw_device** out, lw_error* error);
/* Another handle of a CUDA device, whose calls go to `stream`: it takes the matrices and activations of `device`, and
 * its own are taken there. An activation is set on the stream of the handle that it was made with. Who uses several
 * streams orders them, as ever with CUDA. LW_ERROR_UNSUPPORTED for a CPU. */
LW_API lw_status lw_device_on_stream(const lw_device* device, void* stream, lw_device** out, lw_error* error);
/* Waits for everything on the device's stream; LW_ERROR_DEVICE where any of it failed. On a CPU all is done already. */
LW_API lw_status lw_device_wait(const lw_device* device, lw_error* error);
/* Not while a product runs on it. */
LW_API void lw_device_close(lw_device* device);

typedef struct lw_device_info {
  uint32_t struct_size;
  uint32_t threads; /* that a call can use, the calling one included; with parallel_for, the most tasks of a call */
  const char* name; /* "cpu", "cuda:0"; these two live as long as the device */
  const char* description; /* the processor's name as the system gives it; a CUDA device's, and what it is */
} lw_device_info;
#define LW_DEVICE_INFO_INIT \
  { sizeof(lw_device_info), 0, NULL, NULL }
LW_API lw_status lw_device_query(const lw_device* device, lw_device_info* out);

/* Tuning: which kernel, and laid out how, was measured best for a format, shape and number of tokens. A device opens
 * with what this version was shipped with for a device of its name; this adds what was measured here and takes the
 * place of that. No bit of any result depends on it. `path`: a file that `lanewise tune` wrote; NULL: the file of this
 * device in $XDG_CACHE_HOME/lanewise or ~/.cache/lanewise. `entries`, where not NULL, is how many are used.
 *
 * LW_ERROR_NOT_FOUND where there is no file, LW_ERROR_ARGUMENT for a damaged one, LW_ERROR_UNSUPPORTED for one of
 * another device, driver or version of the kernels: nothing has changed then. Not while a product runs on the device;
 * handles that lw_device_on_stream made before keep what they had. lw_gemv_explain says what is taken and why. */
LW_API lw_status lw_tuning_load(lw_device* device, const char* path, uint64_t* entries, lw_error* error);

/* Memory that the device's kernels reach, for x, y and workspaces, aligned to 256 bytes. On a CPU it is ordinary
 * memory, on a CUDA device the runtime's. On a Vulkan device addresses are the library's own: they count bytes as
 * pointers do, and the host can't read or write through them. */
LW_API lw_status lw_memory_allocate(lw_device* device, uint64_t bytes, void** out, lw_error* error);
/* Once nothing that was enqueued uses it any more. Freeing NULL does nothing. */
LW_API void lw_memory_free(lw_device* device, void* memory);
/* Waits for everything on the device's stream, then copies from host or device memory to host or device memory, and
 * returns when that is done. */
LW_API lw_status lw_memory_copy(lw_device* device, void* to, const void* from, uint64_t bytes, lw_error* error);

/* ---- Vulkan ----
 *
 * "vulkan:N" opens a device of the library's own. Calls go to its one queue, in batches: lw_device_wait and
 * lw_memory_copy submit what is left and wait. An engine with a VkDevice of its own gives that instead, and its
 * buffers: products may then be recorded into its command buffers (lw_device_on_stream with a VkCommandBuffer that is
 * being recorded, outside of a render pass). Each command of the library's is preceded there by a barrier that waits
 * for all kernels and copies before it; what follows needs one of the engine's. Matrices, activations, copies, calls
 * without a command buffer and the first product of each kind use the queue: not while the engine does. */

typedef struct lw_vulkan {
  uint32_t struct_size;
  uint32_t queue_family;        /* of `queue`: one that computes */
  void* instance;               /* VkInstance, of version 1.1 or later */
  void* physical_device;        /* VkPhysicalDevice */
  void* device;                 /* VkDevice, made with VK_KHR_push_descriptor */
  void* queue;                  /* VkQueue */
  void* get_instance_proc_addr; /* PFN_vkGetInstanceProcAddr */
  int32_t has_dot_product;      /* 1: the device was made with the feature shaderIntegerDotProduct */
} lw_vulkan;
#define LW_VULKAN_INIT \
  { sizeof(lw_vulkan), 0, NULL, NULL, NULL, NULL, NULL, 0 }

/* `options` as in lw_device_open; its name is not read. The engine's handles stay the engine's and live longer. */
LW_API lw_status lw_device_open_vulkan(const lw_device_options* options, const lw_vulkan* vulkan, lw_device** out,
                                       lw_error* error);
/* An address for `bytes` bytes from `offset` on of a VkBuffer (its 64 bits) that may be a storage buffer and be copied
 * from and to, bound to memory; `offset` a multiple of 256. lw_memory_free ends the address, not the buffer. */
LW_API lw_status lw_vulkan_address(lw_device* device, uint64_t buffer, uint64_t offset, uint64_t bytes, void** out,
                                   lw_error* error);

/* ---- Matrices ---- */

typedef struct lw_matrix lw_matrix;

typedef struct lw_matrix_info {
  uint32_t struct_size;
  lw_format format;
  uint64_t rows;
  uint64_t cols;
  uint64_t bytes;
} lw_matrix_info;
#define LW_MATRIX_INFO_INIT \
  { sizeof(lw_matrix_info), LW_F32, 0, 0, 0 }

/* A weight tensor of a model: "NAME", or "NAME[i]" for matrix i (from 0) of a tensor of 3 or 4 dimensions; `NAME` alone
 * is an error where the tensor holds several. A vector is a matrix of one row. */
LW_API lw_status lw_matrix_from_tensor(lw_device* device, const lw_model* model, const char* name, lw_matrix** out,
                                       lw_error* error);
/* Bare bytes in GGUF's block layout, row by row; `data` stays with the caller, unchanged, while the matrix lives.
 * `bytes` is exactly rows * (cols / block elements) * (block bytes); `cols` a multiple of the block's elements, not 0.
 */
LW_API lw_status lw_matrix_from_bytes(lw_device* device, lw_format format, uint64_t rows, uint64_t cols,
                                      const void* data, uint64_t bytes, lw_matrix** out, lw_error* error);
LW_API void lw_matrix_free(lw_matrix* matrix);
LW_API lw_status lw_matrix_query(const lw_matrix* matrix, lw_matrix_info* out);

/* ---- Activations ---- */

typedef struct lw_activation lw_activation;

typedef enum lw_dtype LW_ENUM32 { LW_DTYPE_F32 = 0, LW_DTYPE_F16 = 1, LW_DTYPE_BF16 = 2 } lw_dtype;
/* How x is held: 8, 16 (the default) or 24 bits an element. docs/arithmetic.md has the accuracy of each. */
typedef enum lw_planes LW_ENUM32 { LW_X8 = 1, LW_X16 = 2, LW_X24 = 3 } lw_planes;

/* Room for up to `max_tokens` vectors of `cols` elements. */
LW_API lw_status lw_activation_create(lw_device* device, lw_planes planes, uint64_t max_tokens, uint64_t cols,
                                      lw_activation** out, lw_error* error);
/* The same in the caller's memory: ask for the size, give that much at `memory` (64-byte aligned; device memory,
 * 256-byte aligned, on a CUDA device), keep it while the activation lives. */
LW_API lw_status lw_activation_workspace(const lw_device* device, lw_planes planes, uint64_t max_tokens, uint64_t cols,
                                         uint64_t* bytes, lw_error* error);
LW_API lw_status lw_activation_create_in(lw_device* device, lw_planes planes, uint64_t max_tokens, uint64_t cols,
                                         void* memory, uint64_t bytes, lw_activation** out, lw_error* error);
/* Converts x, token t at element t * stride (stride >= cols; 0: cols). Allocates nothing. Every matrix that is given
 * the activation shares this work; x isn't needed afterwards. A call that fails leaves the activation as it was. */
LW_API lw_status lw_activation_set(lw_activation* activation, lw_dtype dtype, const void* x, uint64_t tokens,
                                   uint64_t stride, lw_error* error);
LW_API void lw_activation_free(lw_activation* activation);

typedef struct lw_activation_info {
  uint32_t struct_size;
  lw_planes planes;
  uint64_t max_tokens;
  uint64_t cols;
  uint64_t tokens; /* of the last lw_activation_set */
  int32_t is_set;  /* 0: lw_activation_set has not succeeded yet; a product is then an error */
} lw_activation_info;
#define LW_ACTIVATION_INFO_INIT \
  { sizeof(lw_activation_info), LW_X16, 0, 0, 0, 0 }
LW_API lw_status lw_activation_query(const lw_activation* activation, lw_activation_info* out);

/* ---- Products ----
 *
 * The matrix and the activation come from `device` and have the same cols. y is aligned to its elements and overlaps
 * neither W nor the activation's workspace, nor another y of the same call. Zero rows or zero tokens write nothing and
 * succeed. No product allocates memory. */

/* y of one matrix: token t at element t * stride (stride >= rows; 0: rows). The elements between are left as they are.
 */
typedef struct lw_output {
  void* data;
  lw_dtype dtype;
  uint64_t stride;
} lw_output;

/* y = W * x. */
LW_API lw_status lw_gemv(lw_device* device, const lw_matrix* matrix, const lw_activation* activation, lw_output y,
                         lw_error* error);
/* Part `part` of `parts` of the same product (a range of rows), on the calling thread: for callers with threads of
 * their own. LW_ERROR_UNSUPPORTED on a CUDA device. All parts together write y once, each row by one of them. */
LW_API lw_status lw_gemv_part(lw_device* device, const lw_matrix* matrix, const lw_activation* activation, lw_output y,
                              uint32_t part, uint32_t parts, lw_error* error);
/* `count` matrices that read the same activation (q|k|v, gate|up): bit-equal to single calls. On a CUDA device up to 8
 * matrices of one format are one launch. */
LW_API lw_status lw_gemv_group(lw_device* device, uint64_t count, const lw_matrix* const* matrices,
                               const lw_activation* activation, const lw_output* ys, lw_error* error);
/* Experts: token t is multiplied by matrices[ids[t * used + i]] for i in 0 .. used-1; y of (t, i) at element
 * (t * used + i) * stride. Bit-equal to single calls; each distinct expert is read from memory once, for all its
 * tokens. All matrices have the same rows and cols; an id outside 0 .. count-1 is an error before anything is written;
 * ids may repeat. Neither scratch memory nor a lock is taken.
 *
 * On a CUDA device: ids are device memory, and the device checks them: of a call with a bad id nothing is written, and
 * lw_experts_check tells. Each distinct expert is read once for eight tokens. There are at most 512, all of one format;
 * two such calls with one activation run one after the other. */
LW_API lw_status lw_gemv_experts(lw_device* device, uint64_t count, const lw_matrix* const* matrices,
                                 const lw_activation* activation, const int32_t* ids, uint64_t used, lw_output y,
                                 lw_error* error);
/* `lists` such products of the same ids (gate and up): expert e of list l is matrices[l * count + e], its outputs go to
 * ys[l]. On a CUDA device two lists of one format are one launch. */
LW_API lw_status lw_gemv_experts_group(lw_device* device, uint64_t lists, uint64_t count,
                                       const lw_matrix* const* matrices, const lw_activation* activation,
                                       const int32_t* ids, uint64_t used, const lw_output* ys, lw_error* error);
/* Waits for the device's stream; LW_ERROR_ARGUMENT where an id of the last product with experts that `activation` was
 * given to was out of range. On a CPU that product itself has said so. */
LW_API lw_status lw_experts_check(const lw_device* device, const lw_activation* activation, lw_error* error);
/* The kernel that lw_gemv would run for this pair and why, as one line of text, cut to `size` bytes. */
LW_API lw_status lw_gemv_explain(lw_device* device, const lw_matrix* matrix, const lw_activation* activation,
                                 char* text, size_t size, lw_error* error);

#ifdef __cplusplus
}
#endif

#endif
