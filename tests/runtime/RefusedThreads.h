//===- RefusedThreads.h - a system that refuses threads -------------------===//

#ifndef TESSERA_TESTS_RUNTIME_REFUSEDTHREADS_H
#define TESSERA_TESTS_RUNTIME_REFUSEDTHREADS_H

#include <cstddef>
#include <gtest/gtest.h>
#include <pthread.h>

namespace tessera::tests {

/// While it lives, the system refuses threads: their stacks would not fit into the address space.
class RefusedThreads {
public:
  RefusedThreads() { setStack(size_t(1) << 47); }
  ~RefusedThreads() { setStack(before); }
  RefusedThreads(const RefusedThreads &) = delete;

private:
  void setStack(size_t bytes) {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &before);
    pthread_attr_setstacksize(&attributes, bytes);
    EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
  }
  size_t before = 0;
};

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_REFUSEDTHREADS_H
