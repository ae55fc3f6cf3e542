// Copyright 2026 superovoid_ros maintainers
// SPDX-License-Identifier: Apache-2.0

// Functions that compiled kernels call in addition to the C library: array memory, and stubs for Python's error
// functions, which no kernel calls at run time.

#include <stddef.h>
#include <stdlib.h>
// --- processors ---

// Microarchitecture level of the library: 2 to 4 for x86-64, 1 for other processors.
#define EXPORTED __attribute__((visibility("default")))

EXPORTED const int superovoid_library_level = LEVEL;

// Microarchitecture level of this processor.
EXPORTED int superovoid_processor_level(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
#define HAS(name) (__builtin_cpu_supports(name) != 0)
    if (!(HAS("sse3") && HAS("ssse3") && HAS("sse4.1") && HAS("sse4.2") && HAS("popcnt"))) return 1;
    if (!(HAS("avx") && HAS("avx2") && HAS("bmi") && HAS("bmi2") && HAS("fma"))) return 2;
    if (!(HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") && HAS("avx512vl"))) return 3;
    return 4;
#else
    return 1;
#endif
}

// --- memory ---

typedef struct Block {
    size_t count; void (*end)(void *, size_t, void *); void *info; void *data; size_t size; void *more;
    struct Block *before, *after;
} Block;
// Blocks allocated by this thread: a kernel that runs out of memory does not free its blocks.
static __thread __attribute__((tls_model("initial-exec"))) Block *taken;
void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    size_t head;
    Block *block;
    if (align < 16) align = 16;
    head = (sizeof(Block) + align - 1) / align * align;
    block = aligned_alloc(align, (head + size + align - 1) / align * align);
    if (!block) return 0;
    *block = (Block){1, 0, 0, (char *)block + head, size, 0, 0, taken};
    if (taken) taken->before = block;
    return taken = block;
}
void NRT_MemInfo_call_dtor(void *memory) {
    Block *block = memory;
    if (block->before) block->before->after = block->after;
    else taken = block->after;
    if (block->after) block->after->before = block->before;
    free(block);
}
// Free all blocks left after an entry point; no entry point returns memory.
void superovoid_give_back(void) { while (taken) NRT_MemInfo_call_dtor(taken); }
void NRT_Free(void *memory) { free(memory); }
int numba_attempt_nocopy_reshape(
    ptrdiff_t nd, const ptrdiff_t *shape, const ptrdiff_t *strides,
    ptrdiff_t new_nd, const ptrdiff_t *new_shape, ptrdiff_t *new_strides, ptrdiff_t item, int is_fortran) {
    ptrdiff_t i, step = item;
    for (i = nd - 1; i >= 0; step *= shape[i--])
        if (is_fortran || (shape[i] != 1 && strides[i] != step)) return 0;
    for (i = new_nd - 1, step = item; i >= 0; step *= new_shape[i--]) new_strides[i] = step;
    return 1;
}
// --- errors of Python ---

#define NEVER(name) void name(void) { abort(); }
NEVER(PyBytes_FromStringAndSize) NEVER(PyErr_Clear) NEVER(PyErr_Format) NEVER(PyErr_Occurred) NEVER(PyErr_SetNone)
NEVER(PyErr_SetString) NEVER(Py_DecRef) NEVER(numba_do_raise) NEVER(numba_runtime_build_excinfo_struct)
NEVER(numba_unpickle)
void *PyExc_RuntimeError, *PyExc_StopIteration, *PyExc_SystemError;
