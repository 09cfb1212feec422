//===- MallocHooks.cpp - the launcher's malloc ----------------------------===//
//
// Part of the launcher's executable only: the dynamic linker then binds malloc of every library to these functions.
// Inside a step, `StepAllocator` serves small blocks; all other requests are forwarded to glibc. operator new of
// libstdc++ calls malloc and needs no replacement.
//
//===----------------------------------------------------------------------===//

#include "runtime/machine/StepAllocator.h"

#include <cerrno>
#include <cstring>

using namespace tessera::runtime;

extern "C" {
void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  if (void *block = stepallocator::tryTake(size, 1)) return block;
  return __libc_malloc(size);
}

void free(void *block) {
  if (!stepallocator::tryGive(block)) __libc_free(block);
}

void *calloc(size_t count, size_t size) {
  size_t bytes;
  if (!__builtin_mul_overflow(count, size, &bytes))
    if (void *block = stepallocator::tryTake(bytes, 1)) return memset(block, 0, bytes);
  return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  size_t have = block ? stepallocator::blockSize(block) : 0;
  if (have == 0) {
    if (!block) return malloc(size);
    stepallocator::tryTake(SIZE_MAX, 1); // counted if a step is running
    return __libc_realloc(block, size);
  }
  if (size <= have && size != 0) return block;
  void *larger = malloc(size);
  if (!larger) return nullptr;
  memcpy(larger, block, have < size ? have : size);
  stepallocator::tryGive(block);
  return larger;
}

void *memalign(size_t alignment, size_t size) {
  if (void *block = stepallocator::tryTake(size, alignment)) return block;
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
  *result = memalign(alignment, size);
  return *result ? 0 : ENOMEM;
}
}
